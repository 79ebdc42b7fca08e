package proclocal_test

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// pidMax is how many process numbers there are in a namespace with few of them.
// The kernel gives the numbers below 300 only once.
const pidMax = 460

// The kernel gives every number out again and again. The manager still starts,
// signals and kills the right process, and leaves strangers alone.
func TestHeldNumbersAreGivenAgain(t *testing.T) {
	testenv.Held(t)
	if !inProgram(t) {
		t.Parallel()
		testenv.Root(t)
		testenv.Programs(t, "unshare")
		if !numbersAreFew(t) {
			testenv.Lacks(t, "kernel", "it is older than 6.14")
		}
		// PID 1 is a shell, which reaps the orphans.
		few := fmt.Sprintf(`echo %d >/proc/sys/kernel/pid_max && "$@"; exit $?`, pidMax)
		runProgram(t, program(t, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", few, "sh"))
		return
	}

	l := newLocal(t, nil)
	var mu sync.Mutex
	seen := map[int]int{}
	note := func(pid int) {
		mu.Lock()
		defer mu.Unlock()
		seen[pid]++
	}
	start := func(command string, wait time.Duration) (procmgr.Output, bool) {
		out, err := l.Start(context.Background(), procmgr.StartRequest{Command: command, Wait: wait})
		note(out.Process.PID)
		return out, assert.NoError(t, err)
	}
	kill := func(out procmgr.Output, sig procmgr.Signal) bool {
		id := out.Process.ID
		if !assert.NoError(t, l.Signal(context.Background(), id, sig)) {
			return false
		}
		for out.Process.State != procmgr.Exited {
			var err error
			out, err = l.Output(context.Background(), id, procmgr.OutputRequest{Wait: long})
			if !assert.NoError(t, err) || !assert.NotEqual(t, procmgr.Running, out.Process.State) {
				return false
			}
		}
		// Its number may be a stranger's by now.
		return assert.ErrorIs(t, l.Signal(context.Background(), id, procmgr.Kill), procmgr.ErrNotRunning)
	}
	jobs := []func(i int) bool{
		func(i int) bool {
			out, ok := start(fmt.Sprintf("echo this is %d; exit %d", i, i%100), long)
			return ok && assert.Equal(t, i%100, *out.Process.ExitCode) && assert.Equal(t, fmt.Sprintln("this is", i), out.Text)
		},
		func(int) bool {
			out, ok := start("exec sleep 1000", 0)
			return ok && kill(out, procmgr.Terminate)
		},
		func(int) bool {
			out, ok := start("sleep 1000 >/dev/null 2>&1 & exit 3", long)
			return ok && assert.Equal(t, 3, *out.Process.ExitCode) && kill(out, procmgr.Kill)
		},
		func(int) bool {
			out, ok := start("setsid sleep 1000 & sleep 1000 & exec sleep 1000", 0)
			return ok && kill(out, procmgr.Kill)
		},
	}
	var workers, strangers sync.WaitGroup
	var turns, left, met atomic.Int64
	turns.Store(300)
	for range 4 {
		workers.Go(func() {
			for i := turns.Add(-1); i >= 0; i = turns.Add(-1) {
				if !jobs[int(i)%len(jobs)](int(i)) {
					return
				}
			}
		})
	}
	// Strangers come and go all the while, in sessions of their own. So one or
	// the other has the number of a process that is being killed.
	left.Store(1)
	for n := range 5 {
		strangers.Go(func() {
			for left.Load() > 0 {
				cmd := exec.Command("sleep", "1000")
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: n%2 == 0}
				if !assert.NoError(t, cmd.Start()) {
					return
				}
				mu.Lock()
				if seen[cmd.Process.Pid] > 0 {
					met.Add(1)
				}
				mu.Unlock()
				_, ok := start("exit 5", long) // a while that lasts longer if more happens
				assert.True(t, ok)
				assert.NoError(t, cmd.Process.Signal(syscall.SIGUSR1))
				var exit *exec.ExitError
				if assert.ErrorAs(t, cmd.Wait(), &exit) {
					assert.Equal(t, syscall.SIGUSR1, exit.Sys().(syscall.WaitStatus).Signal(), "nobody else has signalled it")
				}
			}
		})
	}
	workers.Wait()
	left.Store(0)
	strangers.Wait()

	again := 0
	for _, n := range seen {
		again += n - 1
	}
	t.Logf("%d numbers, given %d times more; %d strangers had one of them", len(seen), again, met.Load())
	require.Greater(t, again, 50, "the numbers did not wrap around")
	require.Positive(t, met.Load(), "no stranger was given a number that had been a process's")
}

// numbersAreFew reports whether pid_max belongs to the namespace, as it does
// since Linux 6.14. Before that it belongs to the whole machine, and a test
// must not change it.
func numbersAreFew(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	require.NoError(t, unix.Uname(&name))
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	require.NoError(t, err)
	return major > 6 || major == 6 && minor >= 14
}
