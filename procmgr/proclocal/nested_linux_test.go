package proclocal_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Managers run inside one another, three deep. Each ends one of its processes
// and no other, whatever that has left, and the outermost ends all.
func TestNestedManagers(t *testing.T) {
	testenv.Programs(t, "setsid")
	if inProgram(t) {
		depth, err := strconv.Atoi(os.Getenv("DEPTH"))
		require.NoError(t, err)
		manage(t, depth, os.Getenv("MARKER"))
		return
	}
	marker := fmt.Sprint("1000.", os.Getpid())
	t.Cleanup(func() { killMarked(marker) })
	l := newLocal(t, nil)
	id := nest(t, l, 1, marker)
	require.Len(t, sleepTimes(marker), 2, "one of each manager inside")
	require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
	require.Empty(t, marked(marker))
}

// nest starts this test as a process of a manager, and returns when it has
// printed "ready".
func nest(t *testing.T, l *proclocal.Local, depth int, marker string) (id string) {
	self, err := os.Executable()
	require.NoError(t, err)
	out := start(t, l, procmgr.StartRequest{
		Command: self + " -test.run='^TestNestedManagers$' -test.count=1 -test.v",
		Env:     map[string]string{programVariable: t.Name(), "DEPTH": strconv.Itoa(depth), "MARKER": marker},
	})
	out = output(t, l, out.Process.ID, procmgr.OutputRequest{Until: "^ready$", Wait: 2 * long})
	require.True(t, out.Matched, out.Text)
	return out.Process.ID
}

// manage is a manager in a process of another one, and at depth 2 in a process of
// one that is so itself. It returns only if something is wrong.
func manage(t *testing.T, depth int, marker string) {
	l := newLocal(t, nil)
	wiped := "env -i "
	if depth == 2 {
		wiped = "" // it sets no marks
	}
	leave := func(name string) string {
		out := start(t, l, procmgr.StartRequest{
			Command: wiped + "setsid sleep " + marker + name + " >/dev/null 2>&1 & wait",
		})
		return out.Process.ID
	}
	d := strconv.Itoa(depth)
	stays, ends := leave(d+"1"), leave(d+"2")
	eventually(t, "both run", func() bool { return len(sleepTimes(marker+d)) == 2 })
	require.NoError(t, l.Signal(t.Context(), ends, procmgr.Kill))
	require.Equal(t, []string{marker + d + "1"}, sleepTimes(marker+d), "the other one lives")
	if depth < 2 {
		nest(t, l, depth+1, marker)
	}
	fmt.Println("ready")
	ended(t, l, stays) // until the manager outside ends it
}

// sleepTimes returns the times for which the live sleeps sleep that begin with a
// text.
func sleepTimes(marker string) (times []string) {
	for _, pid := range marked("sleep\x00" + marker) {
		line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		if rest, ok := strings.CutPrefix(string(line), "sleep\x00"); ok {
			times = append(times, strings.TrimRight(rest, "\x00"))
		}
	}
	return times
}

// A manager that runs in a process of another one leaves alone what its siblings there
// have started, although all of it has the mark of the outer manager.
func TestSiblingManagers(t *testing.T) {
	testenv.Programs(t, "sleep")
	if !inProgram(t) {
		l := newLocal(t, nil)
		self, err := os.Executable()
		require.NoError(t, err)
		out := start(t, l, procmgr.StartRequest{
			Command: self + " -test.run='^TestSiblingManagers$' -test.count=1 -test.v",
			Env:     map[string]string{programVariable: t.Name()},
			Wait:    2 * long,
		})
		require.Contains(t, out.Text, "--- PASS: TestSiblingManagers", "it runs in a process of a manager")
		return
	}
	const rlimitLocks = 10 // RLIMIT_LOCKS
	var mark unix.Rlimit
	eventually(t, "the outer manager has marked this program, which it has started", func() bool {
		require.NoError(t, unix.Prlimit(0, rlimitLocks, nil, &mark))
		return mark.Max != unix.RLIM_INFINITY
	})
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	p := begin(t, l, "echo ready; exec sleep 1000").Process
	require.NoError(t, unix.Prlimit(p.PID, rlimitLocks, nil, &mark))
	like := func(env ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "sleep", "1000")
		cmd.Env, cmd.SysProcAttr = env, &syscall.SysProcAttr{Setsid: true}
		require.NoError(t, cmd.Start())
		require.NoError(t, unix.Prlimit(cmd.Process.Pid, rlimitLocks, &mark, nil))
		return cmd
	}
	anyones := like("PATH=/")
	siblings := like("PATH=/", "TOOLPROC_C_ABCDEFGHIJKLMNOPQRSTUVWXYZ=1")
	require.NoError(t, l.Signal(t.Context(), p.ID, procmgr.Kill))
	require.NoError(t, l.Close())
	for _, cmd := range []*exec.Cmd{anyones, siblings} {
		require.True(t, alive(strconv.Itoa(cmd.Process.Pid)), "%v", cmd.Env)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
	}
}

// Where an ordinary user sees no processes of others in /proc, it still finds all
// of its own, and starts and ends are as ever.
func TestHidepid(t *testing.T) {
	testenv.Programs(t, "unshare", "setpriv", "setsid")
	if inProgram(t) {
		if os.Getuid() == 0 {
			require.NoError(t, unix.Mount("proc", "/proc", "proc", 0, "hidepid=2"))
			drop := program(t, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
			drop.Env = append(drop.Env, "HOME=/")
			runProgram(t, drop)
			return
		}
		require.NoDirExists(t, "/proc/1", "it is hidden")
		l, err := proclocal.New(&proclocal.Options{WorkDir: "/"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		marker := fmt.Sprint("1000.", os.Getpid())
		out := start(t, l, procmgr.StartRequest{
			Command: "env -i setsid sleep " + marker + " >/dev/null 2>&1 & setsid sleep " + marker + " & wait",
		})
		asleep(t, marker, 2)
		require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
		require.Empty(t, marked("sleep\x00"+marker))
		return
	}
	testenv.Root(t)
	runProgram(t, program(t, "unshare", "--mount", "--propagation=private"))
}
