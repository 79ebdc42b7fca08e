//go:build unix

package readme_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	dialBlock    = `"toolprocd", "stdio"`
	partialBlock = "var partial *procmgr.PartialError"
)

// The way of the page is replaced by a program that is not there.
var reachRules = []rule{
	{page: "docs/reach.md", has: "stdin and stdout of ssh", run: drawing},
	{
		page: "docs/reach.md", language: "go", has: dialBlock, run: dial,
		instead: map[string]string{`"ssh"`: `"no-such-way"`},
		program: `func main() {
BLOCK
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	_, err = client.List(context.Background())
	fmt.Print(err)
}`,
	},
	{
		page: "docs/machines.md", language: "go", has: partialBlock, run: partial,
		program: `type router map[string]procmgr.Host

func (r router) Host(context.Context, string) (procmgr.Host, error) { return r["good"], nil }

func (r router) Hosts(context.Context) (map[string]procmgr.Host, error) { return r, nil }

func list(ctx context.Context, route procmgr.Host, show func([]procmgr.Process)) error {
BLOCK
	return nil
}

func main() {
	local, err := procmgr.NewLocal(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	dead, err := prochttp.NewClient("unix:///no/such/socket", &prochttp.ClientOptions{Retry: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer dead.Close()
	log.SetOutput(os.Stdout)
	log.SetFlags(0)
	route := procmgr.NewRoute(router{"good": local, "build-2": dead}, nil)
	if err := list(context.Background(), route, func(all []procmgr.Process) { fmt.Println(len(all), "processes") }); err != nil {
		log.Fatal(err)
	}
}`,
	},
}

// dial tries a way that is not there, and the error says so.
func dial(t *testing.T, p *pages, _ block) {
	program := start(t, t.TempDir(), nil, p.programs[dialBlock])
	require.Zero(t, program.end(t), &program.err)
	require.Contains(t, program.out.String(), `run "no-such-way -T -o BatchMode=yes build toolprocd stdio"`)
}

// partial lists the processes of two machines, one of which is not there.
func partial(t *testing.T, p *pages, _ block) {
	program := start(t, t.TempDir(), nil, p.programs[partialBlock])
	require.Zero(t, program.end(t), &program.err)
	require.Contains(t, program.out.String(), "no answer from build-2: prochttp: list: the server cannot be reached")
	require.Contains(t, program.out.String(), "\n0 processes\n")
}
