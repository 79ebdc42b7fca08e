package proclocal_test

import (
	"bytes"
	"context"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// sleeping is one process, which does nothing until it is killed.
const sleeping = "exec sleep 1000"

// Close with a thousand processes that run, beside a thousand kills and waits.
func BenchmarkClose(b *testing.B) {
	beside.Times(b, func() time.Duration {
		l := unbounded(b)
		startSleeping(b, l, thousand())
		began := time.Now()
		require.NoError(b, l.Close())
		return time.Since(began)
	}, func() time.Duration {
		children := startPlain(b, thousand())
		began := time.Now()
		for _, c := range children {
			c.kill()
		}
		for _, c := range children {
			c.end(b)
		}
		return time.Since(began)
	})
}

// Sixteen callers make a thousand calls of Signal(Kill). Each call returns when
// nothing is left of its process. Beside them, sixteen callers make as many
// kills and waits.
func BenchmarkKill(b *testing.B) {
	beside.Times(b, func() time.Duration {
		l := unbounded(b)
		defer func() { require.NoError(b, l.Close()) }()
		return byCallers(startSleeping(b, l, thousand()), func(id string) {
			assert.NoError(b, l.Signal(context.Background(), id, procmgr.Kill))
		})
	}, func() time.Duration {
		return byCallers(startPlain(b, thousand()), func(c *plainChild) { c.end(b) })
	})
}

func thousand() int {
	if testing.Short() {
		return 100
	}
	return 1000
}

// byCallers calls f with everything, shared among sixteen callers, and returns
// how long that took.
func byCallers[T any](all []T, f func(T)) time.Duration {
	next := make(chan T)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for v := range next {
				f(v)
			}
		})
	}
	began := time.Now()
	for _, v := range all {
		next <- v
	}
	close(next)
	group.Wait()
	return time.Since(began)
}

// unbounded returns a Local without a limit on running processes. When it is
// closed, it kills at once.
func unbounded(t testing.TB) *proclocal.Local {
	return newLocal(t, &proclocal.Options{MaxRunning: -1, MaxRunningPerChat: -1, StopGrace: -1})
}

// startSleeping starts n processes and returns their IDs.
func startSleeping(t testing.TB, m procmgr.Manager, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		out, err := m.Start(context.Background(), procmgr.StartRequest{Command: sleeping, Background: true})
		require.NoError(t, err)
		ids[i] = out.Process.ID
	}
	return ids
}

// A plainChild is a process as os/exec keeps it: its output in memory, and a
// goroutine that waits for its end.
type plainChild struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	ended chan struct{}
}

// startPlain starts n children, which end with the test at the latest.
func startPlain(t testing.TB, n int) []*plainChild {
	children := make([]*plainChild, n)
	for i := range children {
		c := &plainChild{cmd: exec.Command(plainShell(), "-c", sleeping), ended: make(chan struct{})}
		c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
		require.NoError(t, c.cmd.Start())
		go func() { // end waits for it
			defer close(c.ended)
			_ = c.cmd.Wait() // it was killed
		}()
		t.Cleanup(func() { c.end(t) })
		children[i] = c
	}
	return children
}

func (c *plainChild) kill() { _ = c.cmd.Process.Kill() } // on an error the child has ended

// end kills the child, unless it has ended, and returns when it is reaped.
func (c *plainChild) end(t testing.TB) {
	select {
	case <-c.ended:
		return
	default:
	}
	c.kill()
	select {
	case <-c.ended:
	case <-time.After(long):
		assert.Fail(t, "a killed process does not end", "pid %d", c.cmd.Process.Pid)
	}
}
