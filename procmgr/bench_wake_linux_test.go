package procmgr_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
)

// The time from a child's death to the return of the caller that waits for it,
// beside the least that a program can do: a thread that blocks in wait4.
func BenchmarkWakeUp(b *testing.B) {
	l := newLocal(b, nil)
	const command = "echo ready; " + sleeping
	shell, err := exec.LookPath(plainShell())
	require.NoError(b, err)
	besideTimes(b, func() time.Duration {
		p := begin(b, l, command).Process
		return deathToReturn(b, p.PID, func() error {
			_, err := l.Output(context.Background(), p.ID, procmgr.OutputRequest{Wait: long})
			return err
		})
	}, func() time.Duration {
		r, w, err := os.Pipe()
		require.NoError(b, err)
		defer r.Close()
		p, err := os.StartProcess(shell, []string{plainShell(), "-c", command}, &os.ProcAttr{
			Files: []*os.File{nil, w, w},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
		w.Close()
		require.NoError(b, err)
		defer func() { _ = p.Release() }()
		_, err = bufio.NewReader(r).ReadString('\n')
		require.NoError(b, err)
		return deathToReturn(b, p.Pid, func() error {
			for {
				if _, err := unix.Wait4(p.Pid, nil, 0, nil); err != unix.EINTR {
					return err
				}
			}
		})
	})
}

// deathToReturn kills a child and returns how long it took until wait returned.
func deathToReturn(b *testing.B, pid int, wait func() error) time.Duration {
	type result struct {
		at  time.Time
		err error
	}
	returned := make(chan result)
	go func() { // ends with the child, and the result is received below
		err := wait()
		returned <- result{time.Now(), err}
	}()
	// Nothing tells that a goroutine sleeps in a system call, or that the shell
	// has become sleep. If that takes longer, the turn is an easier one, and
	// the median ignores it.
	time.Sleep(3 * time.Millisecond)
	began := time.Now()
	require.NoError(b, unix.Kill(pid, unix.SIGTERM))
	end := <-returned
	require.NoError(b, end.err)
	return end.at.Sub(began)
}
