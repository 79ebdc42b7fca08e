package proclocal_test

import (
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Close of many processes, with twice as many others beside them, takes
// little longer than to kill as many children and to wait for them. If all
// of them ignore SIGTERM, StopGrace comes on top.
func TestHeldCloseOfMany(t *testing.T) {
	testenv.Held(t)
	many := testenv.Rounds(100, 1000)
	for range 2 * many {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
		})
	}
	children := startPlain(t, many)
	began := time.Now()
	for _, c := range children {
		c.kill()
	}
	for _, c := range children {
		c.end(t)
	}
	plain := time.Since(began)

	const grace = time.Second
	for _, tt := range []struct {
		name, command string
		within        time.Duration
	}{
		{"that end at SIGTERM", "echo ready; exec sleep 1000", time.Second},
		{"that ignore SIGTERM", "trap '' TERM; echo ready; exec sleep 1000", 2*grace + 2*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := proclocal.New(&proclocal.Options{MaxRunning: -1, MaxRunningPerChat: -1, StopGrace: grace})
			require.NoError(t, err)
			ids := make([]string, many)
			for i := range ids {
				out := start(t, l, procmgr.StartRequest{Command: tt.command})
				ids[i] = out.Process.ID
			}
			for _, id := range ids {
				ready(t, l, id, "ready")
			}
			began := time.Now()
			require.NoError(t, l.Close())
			took := time.Since(began)
			t.Logf("%v; to kill %d children took %v", took, many, plain)
			require.Less(t, took, tt.within+10*plain, "a busy machine is slow with children, too")
			page, err := l.List(context.Background(), procmgr.ListRequest{})
			all := page.Processes
			require.NoError(t, err)
			for _, p := range all {
				require.Equal(t, procmgr.Exited, p.State)
			}
		})
	}
}

// A hangingExec is a program whose exec hangs in the kernel until it is let go: an
// exec that is to be permitted waits for the answer.
type hangingExec struct {
	path    string
	asks    *os.File
	waiting int32 // the descriptor of the exec that waits
}

func hangExec(t *testing.T, program string) *hangingExec {
	t.Helper()
	testenv.Root(t)
	found, err := exec.LookPath(program)
	require.NoError(t, err)
	text, err := os.ReadFile(found)
	require.NoError(t, err)
	h := &hangingExec{path: filepath.Join(t.TempDir(), program)}
	require.NoError(t, os.WriteFile(h.path, text, 0o700))
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_CLOEXEC)
	if err == nil {
		h.asks = os.NewFile(uintptr(fd), "fanotify")
		t.Cleanup(func() { require.NoError(t, h.asks.Close()) }) // what waits goes on
		err = unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_EXEC_PERM, unix.AT_FDCWD, h.path)
	}
	if err != nil {
		testenv.Lacks(t, "fanotify", "an exec cannot be held up: %v", err)
	}
	return h
}

// hangs waits until an exec hangs.
func (h *hangingExec) hangs(t *testing.T) {
	t.Helper()
	var event unix.FanotifyEventMetadata
	require.NoError(t, h.asks.SetReadDeadline(time.Now().Add(long)))
	require.NoError(t, binary.Read(h.asks, binary.NativeEndian, &event))
	require.EqualValues(t, unix.FAN_OPEN_EXEC_PERM, event.Mask)
	h.waiting = event.Fd
}

// letGo lets the exec go on that hangs.
func (h *hangingExec) letGo(t *testing.T) {
	t.Helper()
	require.NoError(t, binary.Write(h.asks, binary.NativeEndian, unix.FanotifyResponse{Fd: h.waiting, Response: unix.FAN_ALLOW}))
	require.NoError(t, unix.Close(int(h.waiting)))
}

// Close does not wait for a fork that hangs in the kernel. The start is answered with
// ErrClosed and its ID, since the command may begin once more; if it does, it is
// ended.
func TestHeldCloseWhileAForkHangs(t *testing.T) {
	testenv.Held(t)
	const grace = 5 * time.Second // Close's own bound for a fork, at least
	h := hangExec(t, "sh")
	// Go's fork cannot be interrupted, so a collection would wait for it, and everything
	// else for the collection.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC() // and one that has begun
	ran := filepath.Join(t.TempDir(), "ran")
	marker := "toolproc-hang-" + procmgr.NewID()
	t.Cleanup(func() { killMarked(marker) })
	l, err := proclocal.New(&proclocal.Options{Shell: []string{h.path, "-c"}, StopGrace: -1})
	require.NoError(t, err)
	type answer struct {
		out procmgr.Output
		err error
	}
	started := make(chan answer, 1)
	go func() {
		out, err := l.Start(context.Background(), procmgr.StartRequest{
			ID: "hangs", Command: "sleep 0.5; echo ran > " + ran + "; sleep 1000", Env: map[string]string{"MARKER": marker},
		})
		started <- answer{out, err}
	}()
	h.hangs(t)
	began := time.Now()
	require.ErrorContains(t, l.Close(), "process hangs: its start still hangs")
	require.GreaterOrEqual(t, time.Since(began), grace)
	a := <-started
	require.ErrorIs(t, a.err, procmgr.ErrClosed)
	require.Equal(t, "hangs", a.out.Process.ID)

	h.letGo(t)
	require.Eventually(t, func() bool { return len(leftover.Children()) == 0 }, long, time.Millisecond, "it is ended and reaped")
	require.Empty(t, marked(marker))
	require.NoFileExists(t, ran)
}
