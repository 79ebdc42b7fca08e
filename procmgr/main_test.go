package procmgr_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// TestMain fails the run where goroutines, children or descriptors are left
// behind by it.
func TestMain(m *testing.M) {
	before := descriptors()
	code := m.Run()
	if code == 0 {
		if left := leftBehind(before); left != "" {
			fmt.Fprintln(os.Stderr, "left behind by the tests:", left)
			code = 1
		}
	}
	os.Exit(code)
}

// leftBehind waits a moment for what is on its way out.
func leftBehind(descriptorsBefore int) (left string) {
	for range 200 {
		left = ""
		if n := goroutines(); n != "" {
			left += n
		}
		if children := children(); len(children) > 0 {
			left += fmt.Sprint(" children: ", children)
		}
		if n := descriptors(); n > descriptorsBefore+2 { // the poller's own
			left += fmt.Sprintf(" %d descriptors, %d before", n, descriptorsBefore)
		}
		if left == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

func goroutines() string {
	buf := make([]byte, 1<<20)
	all := string(buf[:runtime.Stack(buf, true)])
	var ours []string
	for _, g := range strings.Split(all, "\n\n") {
		if strings.Contains(g, "toolproc/procmgr.") {
			ours = append(ours, g)
		}
	}
	return strings.Join(ours, "\n\n")
}

// children returns the children of this program, as Linux tells them. What Wine
// has at that place is about itself.
func children() []string {
	if runtime.GOOS == "windows" {
		return nil
	}
	files, _ := filepath.Glob("/proc/self/task/*/children")
	var all []string
	for _, f := range files {
		text, _ := os.ReadFile(f)
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

// descriptors counts this program's open files, where the system tells.
func descriptors() int {
	if runtime.GOOS == "windows" {
		return 0
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// newLocal returns a Local that the test closes, and that must end clean.
func newLocal(t testing.TB, opts *procmgr.Options) *procmgr.Local {
	t.Helper()
	l, err := procmgr.NewLocal(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// needs skips a test on Windows, whose shells lack something that Unix has.
func needs(t testing.TB, what string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no " + what)
	}
}

// remembered is how many IDs a Local remembers after their records.
const remembered = 16384

// long is a wait that a test reaches only where something is wrong.
const long = 30 * time.Second

// run starts a command and waits for its end, or for it to be detached.
func run(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	out, err := m.Start(t.Context(), procmgr.StartRequest{Command: command, Wait: long})
	require.NoError(t, err)
	return out
}

// begin starts a command in the background and waits until it has printed
// "ready".
func begin(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	out, err := m.Start(t.Context(), procmgr.StartRequest{Command: command, Background: true})
	require.NoError(t, err)
	out, err = m.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Wait: long, Until: "^ready$"})
	require.NoError(t, err)
	require.True(t, out.Matched, "it never got ready: %+v", out)
	return out
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
