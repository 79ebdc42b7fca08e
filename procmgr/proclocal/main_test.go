package proclocal_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/asktest"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// TestMain fails the run if the tests leave goroutines, children or descriptors
// behind.
func TestMain(m *testing.M) {
	asktest.Play()
	leave := testenv.CPUGroup()
	code := leftover.Run(m, "toolproc/procmgr")
	leave()
	os.Exit(code)
}

// goroutines returns the stacks of goroutines that run code of procmgr or of a package
// below it.
func goroutines() string { return leftover.Goroutines("toolproc/procmgr") }

// newLocal returns a Local that the test closes, and that must end clean.
func newLocal(t testing.TB, opts *proclocal.Options) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// plainShell is the default shell, as a test finds it for itself.
var plainShell = sync.OnceValue(func() string {
	if _, err := exec.LookPath("bash"); err != nil {
		return "sh"
	}
	return "bash"
})

// needs skips a test on Windows, whose shells lack something that Unix has.
func needs(t testing.TB, what string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no " + what)
	}
}

// remembered is how many IDs a Local remembers after their records.
const remembered = 16384

// long is a wait that a test reaches only if something is wrong.
const long = 2 * time.Minute

// start starts a command, which must succeed.
func start(t testing.TB, m procmgr.Manager, req procmgr.StartRequest) procmgr.Output {
	t.Helper()
	out, err := m.Start(t.Context(), req)
	require.NoError(t, err)
	return out
}

// output reads the output of a process that must be known.
func output(t testing.TB, m procmgr.Manager, id string, req procmgr.OutputRequest) procmgr.Output {
	t.Helper()
	out, err := m.Output(t.Context(), id, req)
	require.NoError(t, err)
	return out
}

// list returns all processes of a manager.
func list(t testing.TB, m procmgr.Manager) []procmgr.Process {
	t.Helper()
	page, err := m.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	return page.Processes
}

// run starts a command and waits until it has ended or is detached.
func run(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	return start(t, m, procmgr.StartRequest{Command: command, Wait: long})
}

// ready waits until a process has printed a line.
func ready(t testing.TB, m procmgr.Manager, id, line string) procmgr.Output {
	t.Helper()
	out := output(t, m, id, procmgr.OutputRequest{Until: line, Wait: long})
	require.True(t, out.Matched, "%q", out.Text)
	return out
}

// finish starts a command, waits for its end and requires that nothing of it is left.
func finish(t testing.TB, m procmgr.Manager, req procmgr.StartRequest) procmgr.Output {
	t.Helper()
	req.Wait = long
	out := start(t, m, req)
	require.Equal(t, procmgr.Exited, out.Process.State)
	return out
}

// begin starts a command in the background and waits until it has printed
// "ready".
func begin(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	out := start(t, m, procmgr.StartRequest{Command: command, Background: true})
	return ready(t, m, out.Process.ID, "^ready$")
}

// ended waits until nothing of a process is left.
func ended(t testing.TB, m procmgr.Manager, id string) procmgr.Output {
	t.Helper()
	for {
		out, err := m.Output(context.Background(), id, procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		if out.Process.State == procmgr.Exited {
			return out
		}
		require.Less(t, time.Since(out.Process.StartedAt), 4*long, "it does not end: %+v", out)
	}
}

// alive reports whether a process lives; a zombie does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// eventually waits for something that has no channel of its own.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, long, 2*time.Millisecond, what)
}
