//go:build unix

package readme_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

const (
	dialBlock    = `"toolprocd", "stdio"`
	partialBlock = "var partial *procmgr.PartialError"
	personBlock  = "$ toolprocd ps"
)

// The way of the page is replaced by a program that is not there.
var reachRules = []rule{
	{page: "docs/remote.md", has: "stdin and stdout of ssh", run: drawing},
	{page: "docs/remote.md", has: personBlock, run: person},
	{
		page: "docs/remote.md", language: "go", has: dialBlock, run: dial,
		instead: map[string]string{`"ssh"`: `"no-such-way"`},
		program: `func main() {
BLOCK
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	_, err = client.List(context.Background(), procmgr.ListRequest{})
	fmt.Print(err)
}`,
	},
	{
		page: "docs/remote.md", language: "go", has: partialBlock, run: partial,
		program: `type router map[string]procmgr.Host

func (r router) Host(context.Context, string) (procmgr.Host, error) { return r["good"], nil }

func (r router) Hosts(context.Context) (map[string]procmgr.Host, error) { return r, nil }

func list(ctx context.Context, route procmgr.Host, show func([]procmgr.Process)) error {
BLOCK
	return nil
}

func main() {
	local, err := proclocal.New(nil)
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
	route := procroute.New(router{"good": local, "build-2": dead}, nil)
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

// person types the commands of the page at a machine where a client runs a
// server. Here, npm and make are scripts.
func person(t *testing.T, p *pages, b block) {
	dir, err := os.MkdirTemp("", "r") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	shell := func(command string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", command, out)
		return string(out)
	}
	require.NoError(t, os.Link(toolprocd(t, p), dir+"/toolprocd"))
	defer shell("toolprocd stop -f")
	require.NoError(t, os.WriteFile(dir+"/npm", []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700))
	require.NoError(t, os.WriteFile(dir+"/make", []byte("#!/bin/sh\necho made \"$@\"\n"), 0o700))
	c, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{
		Dial: prochttp.Command("env", "PATH="+dir+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+dir, "toolprocd", "stdio"),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	_, err = c.Chat("chat-42").Start(t.Context(), procmgr.StartRequest{ID: "npc5orns6a", Command: "npm run dev"})
	require.NoError(t, err)

	masked := regexp.MustCompile(`\b\d+ +(\d+[hms])+ `)
	said := ""
	for line := range strings.Lines(b.text) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case !isCommand: // what the command before it prints
			require.Contains(t, strings.Join(strings.Fields(said), " "), strings.Join(strings.Fields(masked.ReplaceAllString(line, "")), " "))
		case strings.Contains(command, "logs -f"): // it ends with the process
			require.Empty(t, shell("timeout 1 "+strings.TrimSpace(command)+" 2>/dev/null || true"))
		default:
			said = masked.ReplaceAllString(shell(command), "")
		}
	}
	require.Equal(t, "made test\n", said)
	out, err := c.Chat("chat-42").Output(t.Context(), "npc5orns6a", procmgr.OutputRequest{Wait: time.Minute})
	require.NoError(t, err)
	require.Equal(t, "SIGTERM", out.Process.Signal)
}

// partial lists the processes of two machines when one of them is down.
func partial(t *testing.T, p *pages, _ block) {
	program := start(t, t.TempDir(), nil, p.programs[partialBlock])
	require.Zero(t, program.end(t), &program.err)
	require.Contains(t, program.out.String(), "no answer from build-2: prochttp: list: the server cannot be reached")
	require.Contains(t, program.out.String(), "\n0 processes\n")
}
