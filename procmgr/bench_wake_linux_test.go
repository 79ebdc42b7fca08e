package procmgr_test

import (
	"bufio"
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// From a child's death to the return of the one who waits for it, beside the
// least that a program can do: a thread that is blocked in wait4.
func BenchmarkWakeUp(b *testing.B) {
	l := newLocal(b, nil)
	const command = "echo ready; exec sleep 1000"
	besideTimes(b, func() time.Duration {
		out := begin(b, l, command)
		return killed(b, out.Process.PID, func() error {
			_, err := l.Output(context.Background(), out.Process.ID, procmgr.OutputRequest{Wait: long})
			return err
		})
	}, func() time.Duration {
		r, w, err := os.Pipe()
		require.NoError(b, err)
		defer r.Close()
		p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", command}, &os.ProcAttr{
			Files: []*os.File{nil, w, w},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
		w.Close()
		require.NoError(b, err)
		defer func() { _ = p.Release() }()
		_, err = bufio.NewReader(r).ReadString('\n')
		require.NoError(b, err)
		return killed(b, p.Pid, func() error {
			var status syscall.WaitStatus
			for {
				if _, err := syscall.Wait4(p.Pid, &status, 0, nil); err != syscall.EINTR {
					return err
				}
			}
		})
	})
}

// killed kills a child and returns how long it took until wait returned.
func killed(b *testing.B, pid int, wait func() error) time.Duration {
	type result struct {
		at  time.Time
		err error
	}
	woken := make(chan result)
	go func() { // ends with the child, and the caller waits for it
		err := wait()
		woken <- result{time.Now(), err}
	}()
	// Nothing tells that a goroutine has gone to sleep in a system call. Where
	// it has not, its side has an easier turn, and a median forgets that.
	time.Sleep(3 * time.Millisecond)
	began := time.Now()
	require.NoError(b, syscall.Kill(pid, syscall.SIGKILL))
	end := <-woken
	require.NoError(b, end.err)
	return end.at.Sub(began)
}
