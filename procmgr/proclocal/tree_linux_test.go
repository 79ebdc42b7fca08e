package proclocal_test

import (
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// If this program is PID 1 or a subreaper, the manager reaps the orphans of its commands,
// and no other child.
func TestAdoptedOrphansAreReaped(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	stranger := exec.Command("true")
	require.NoError(t, stranger.Start())
	l := newLocal(t, nil)
	for _, script := range []string{
		"sleep 0.2 >/dev/null & echo $!",            // waited for as a member
		"(sh -c 'echo $$; exec true' &); sleep 0.2", // a zombie by the time of the first look
		"setsid sleep 0.2 >/dev/null 2>&1 & echo $!",
	} {
		out := ended(t, l, run(t, l, script).Process.ID)
		require.NoFileExists(t, "/proc/"+strings.TrimSpace(out.Text)+"/stat", script)
	}
	require.NoError(t, stranger.Wait(), "its exit is there for the one who started it")
}

// A process that ends with its shell, or in the 50 ms after that, was not left behind.
func TestNotDetachedForAMoment(t *testing.T) {
	testenv.Programs(t, "bash")
	l := newLocal(t, &proclocal.Options{Shell: []string{"bash", "-c"}})
	for _, script := range []string{"exec > >(cat); echo x", "(sleep .005; echo late) & echo now", "true & true", "nosuch & true"} {
		for range 25 {
			ended(t, l, run(t, l, script).Process.ID)
		}
	}
	for _, e := range events(t, l, procmgr.EventsRequest{Limit: all}).Events {
		if e.Kind == procmgr.EventDetached { // on a busy machine it may take longer to end
			require.GreaterOrEqual(t, e.At.Sub(e.Process.StartedAt), 50*time.Millisecond, e.Process.Command)
		}
	}
}

// A leader that another program traces exits for that program first. Its end is told when
// that program has let go of it, and is not lost. Close does not wait for that.
func TestHeldTracedLeader(t *testing.T) {
	testenv.Held(t)
	testenv.Programs(t, "python3")
	l, err := proclocal.New(&proclocal.Options{StopGrace: -1})
	require.NoError(t, err)
	const seize = `
import ctypes, sys
if ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0): # PTRACE_SEIZE
    sys.exit("it cannot be traced")
print("traced", flush=True)
sys.stdin.read()`
	trace := func(id string) (letGo func()) {
		p := start(t, l, procmgr.StartRequest{ID: id, Command: "exec sleep 1000"}).Process
		tracer := exec.Command("python3", "-c", seize, strconv.Itoa(p.PID))
		stdin, err := tracer.StdinPipe()
		require.NoError(t, err)
		said(t, tracer, "traced")
		killPID(t, strconv.Itoa(p.PID))
		eventually(t, "it is dead", func() bool { return !alive(strconv.Itoa(p.PID)) })
		out := output(t, l, id, procmgr.OutputRequest{Wait: 20 * time.Millisecond})
		require.Equal(t, procmgr.Running, out.Process.State, "its end is told before it can be known")
		return func() {
			require.NoError(t, stdin.Close())
			require.NoError(t, tracer.Wait())
		}
	}
	trace("waits")()
	require.Equal(t, "SIGKILL", ended(t, l, "waits").Process.Signal)

	letGo := trace("closes")
	require.ErrorContains(t, l.Close(), "process closes: nothing of it was found alive, but its end is not told yet")
	letGo()
	_, err = unix.Wait4(list(t, l)[0].PID, nil, 0, nil)
	require.NoError(t, err)
}

// A program that has printed and waits is not said to wait before all that it has printed
// was read. A slow hook holds that up.
func TestWaitsBehindItsOutput(t *testing.T) {
	for name, kind := range map[string]procmgr.Stdin{"pipe": procmgr.StdinPipe, "terminal": procmgr.StdinTerminal} {
		t.Run(name, func(t *testing.T) {
			prints, letGo := make(chan struct{}, 2), make(chan struct{})
			l := newLocal(t, &proclocal.Options{WorkDir: t.TempDir(), Metrics: &proclocal.Metrics{Output: func(int) {
				prints <- struct{}{}
				<-letGo
			}}})
			goOn := sync.OnceFunc(func() { close(letGo) })
			t.Cleanup(goOn)
			start(t, l, procmgr.StartRequest{ID: "x", Command: "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; read -r x", Stdin: kind})
			<-prints
			run(t, newLocal(t, &proclocal.Options{WorkDir: list(t, l)[0].WorkDir}), "touch go")
			for range 30 { // it waits meanwhile
				require.Nil(t, list(t, l)[0].Waiting)
				time.Sleep(10 * time.Millisecond)
			}
			goOn()
			out := output(t, l, "x", procmgr.OutputRequest{UntilWaiting: true, Wait: long})
			require.NotNil(t, out.Process.Waiting)
			require.Equal(t, "one\ntwo\n", out.Text)
		})
	}
}
