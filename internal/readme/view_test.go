//go:build unix

package readme_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

const (
	viewBlock = "procview.New(manager"
	curlBlock = "/procs/npc5orns6a/output"
)

var viewRules = []rule{
	{
		page: "docs/view.md", language: "go", has: viewBlock, run: viewPage,
		instead: map[string]string{`"http://127.0.0.1:8080/procs/"`: `"http://" + os.Getenv("ADDRESS") + "/procs/"`},
		program: `func main() {
	if err := serve(); err != nil {
		log.Fatal(err)
	}
}

func serve() error {
	manager, err := proclocal.New(nil)
	if err != nil {
		return err
	}
	defer manager.Close()
BLOCK
	res := tools.Call(context.Background(), toolset.Call{Name: "execute", Arguments: json.RawMessage("{\"command\":\"echo hello\"}")})
	fmt.Println("id:", res.Output.Process.ID)
	server := &http.Server{Addr: os.Getenv("ADDRESS")}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	server.ListenAndServe()
	return nil
}`,
	},
	{page: "docs/view.md", language: "console", has: curlBlock, run: curl},
	{page: "contrib/procview/README.md", language: "console", has: "contrib/procview", run: goGet},
	{page: "contrib/procview/README.md", language: "go", has: "procview.Serve(", run: inExamples("contrib/procview/example_test.go"), elsewhere: true},
}

// viewed runs the page's program. It returns what that prints, the token and the ID of a
// process, and a function that ends it.
func viewed(t *testing.T, p *pages) (address, token, id string, stop func()) {
	t.Helper()
	program, address := serve(t, t.TempDir(), p.programs[viewBlock])
	awaitOutput(t, program, "id: ")
	url, id, found := strings.Cut(strings.TrimSpace(program.out.String()), "\nid: ")
	require.True(t, found)
	_, token, found = strings.Cut(url, "processes: http://"+address+"/procs/#token=")
	require.True(t, found, url)
	return address, token, id, func() {
		require.NoError(t, program.Process.Signal(syscall.SIGTERM))
		require.Zero(t, program.end(t), &program.err)
	}
}

func viewPage(t *testing.T, p *pages, _ block) {
	_, token, _, stop := viewed(t, p)
	defer stop()
	require.NotEmpty(t, token)
}

// curl runs the page's command beside its program.
func curl(t *testing.T, p *pages, b block) {
	testenv.Programs(t, "curl")
	address, token, id, stop := viewed(t, p)
	defer stop()
	t.Setenv("TOKEN", token)
	command := strings.NewReplacer("127.0.0.1:8080", address, "npc5orns6a", id, "curl ", "curl -sS ").Replace(commands(t, b)[0])
	out, err := exec.CommandContext(t.Context(), "sh", "-c", command).Output()
	require.NoError(t, err, command)
	require.Equal(t, "hello\n", string(out))
}
