package prockeep_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A lateEnd is a keeper in the midst of its end: one of its processes ends only at
// the second SIGTERM, which that keeper never sends.
type lateEnd struct {
	dir            string
	k              *prockeep.Keeper
	keeper, holder int
	victim         int
	stopped        chan error // gets the result of Stop, if that was called
}

// endLate lets a keeper end by a Stop, or by a signal without anybody who waits.
func endLate(ctx context.Context, t *testing.T, bySignal bool) *lateEnd {
	t.Helper()
	e := &lateEnd{dir: newDir(t), stopped: make(chan error, 1)}
	e.k = open(t, e.dir, &prockeep.Options{Local: proclocal.Options{StopGrace: long}})
	e.keeper = keeperPID(t, e.k)
	e.holder = parentOf(t, e.keeper)
	told := filepath.Join(t.TempDir(), "told")
	e.victim = begin(t, e.k, "x", "trap 'if [ -e "+told+" ]; then exit; fi; : > "+told+"' TERM; echo ready; while :; do sleep 0.01; done").Process.PID
	if bySignal {
		require.NoError(t, syscall.Kill(e.keeper, syscall.SIGTERM))
	} else {
		go func() { e.stopped <- e.k.Stop(ctx) }()
	}
	require.Eventually(t, func() bool { _, err := os.Stat(told); return err == nil }, long, time.Millisecond)
	require.NoFileExists(t, filepath.Join(e.dir, "keeper"))
	require.Len(t, endingIn(t, e.dir), 1)
	require.True(t, alive(e.victim))
	return e
}

// kill kills the keeper, and the holder before that if both is set.
func (e *lateEnd) kill(t *testing.T, both bool) {
	t.Helper()
	if both {
		require.NoError(t, syscall.Kill(e.holder, syscall.SIGKILL))
	}
	require.NoError(t, syscall.Kill(e.keeper, syscall.SIGKILL))
}

// requireOver waits until nothing is left of what has ended.
func (e *lateEnd) requireOver(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return !alive(e.victim) && !alive(e.keeper) && !alive(e.holder) }, long, time.Millisecond)
	require.Eventually(t, func() bool { return len(endingIn(t, e.dir)) == 0 }, long, time.Millisecond)
}

// endingIn returns the names of the journals of keepers that are about to end.
func endingIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "journal.") {
			names = append(names, f.Name())
		}
	}
	return names
}

// If a keeper is killed while it ends its processes, its holder goes on with the end.
// If that is killed too, Stop does so with another keeper, and ends that one.
func TestKilledDuringAStop(t *testing.T) {
	for name, both := range map[string]bool{"keeper": false, "keeper and holder": true} {
		t.Run(name, func(t *testing.T) {
			e := endLate(context.Background(), t, false)
			e.kill(t, both)
			require.NoError(t, <-e.stopped)
			require.False(t, alive(e.victim))
			e.requireOver(t)
			require.NoFileExists(t, filepath.Join(e.dir, "journal"))
			require.Eventually(t, func() bool { return len(keepersOf(e.dir)) == 0 }, long, time.Millisecond)
		})
	}
}

// A keeper that ends by a signal has nobody who waits for its end.
func TestKilledAfterASignal(t *testing.T) {
	e := endLate(t.Context(), t, true)
	e.kill(t, false)
	e.requireOver(t)
	require.Eventually(t, func() bool { return len(keepersOf(e.dir)) == 0 }, long, time.Millisecond)
}

// If the program that stops is killed as well, the next one that opens the directory
// gets a keeper at once. That one knows no ID, and ends the processes.
func TestAllKilledDuringAStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := endLate(ctx, t, false)
	cancel() // the end goes on
	require.ErrorIs(t, <-e.stopped, context.Canceled)
	e.kill(t, true)
	require.Eventually(t, func() bool { return !alive(e.keeper) }, long, time.Millisecond)
	require.True(t, alive(e.victim))
	require.Len(t, endingIn(t, e.dir), 1)

	k := open(t, e.dir, nil)
	out, err := k.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "echo another", Wait: long})
	require.NoError(t, err)
	require.False(t, out.Attached)
	require.Equal(t, "another\n", out.Text)
	e.requireOver(t)
	require.Equal(t, "another\n", run(t, k, "echo another").Text)
}

// A keeper that another program has opened meanwhile goes on.
func TestOpenAndKilledDuringAStop(t *testing.T) {
	for name, both := range map[string]bool{"keeper": false, "keeper and holder": true} {
		t.Run(name, func(t *testing.T) {
			e := endLate(context.Background(), t, false)
			other := open(t, e.dir, nil)
			pid := keeperPID(t, other)
			lives := begin(t, other, "y", "echo ready; exec sleep 1000").Process.PID
			e.kill(t, both)
			require.NoError(t, <-e.stopped)
			require.False(t, alive(e.victim))
			e.requireOver(t)
			require.True(t, alive(lives))
			require.Equal(t, pid, keeperPID(t, other))
		})
	}
}

// If keeper and holder were killed, Stop ends what they have left.
func TestStopAfterADeath(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	pid := keeperPID(t, k)
	lives := begin(t, k, "x", "echo ready; exec sleep 1000").Process.PID
	require.NoError(t, syscall.Kill(parentOf(t, pid), syscall.SIGKILL))
	kill(t, pid)
	require.True(t, alive(lives))
	require.NoError(t, k.Stop(context.Background()))
	require.False(t, alive(lives))
	require.Eventually(t, func() bool { return len(keepersOf(dir)) == 0 }, long, time.Millisecond)
	require.NoFileExists(t, filepath.Join(dir, "journal"))
}

// Running starts no keeper, and tells of what a dead one has left.
func TestRunning(t *testing.T) {
	ctx, dir := context.Background(), newDir(t)
	is := func(want bool, when string) {
		t.Helper()
		require.Equal(t, want, prockeep.Running(ctx, dir), when)
	}
	none := filepath.Join(dir, "none")
	require.False(t, prockeep.Running(ctx, none))
	require.NoDirExists(t, none)
	is(false, "an empty directory")
	k := open(t, dir, nil)
	is(true, "a keeper")
	pid := keeperPID(t, k)
	begin(t, k, "x", "echo ready; exec sleep 1000")
	require.NoError(t, syscall.Kill(parentOf(t, pid), syscall.SIGKILL))
	kill(t, pid)
	require.Eventually(t, func() bool { return len(keepersOf(dir)) == 0 }, long, time.Millisecond)
	is(true, "a process that a dead keeper has left")
	require.Empty(t, keepersOf(dir), "none was started")
	require.NoError(t, k.Stop(ctx))
	is(false, "after Stop")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.True(t, prockeep.Running(ctx, file), "Open says why it fails")
}

// The keeper is killed at random points of Stop, Upgrade and Open by two programs, and
// its holder with it now and then. Every process has ended then, or is known; when
// Stop returns, all has ended that was there before.
func TestHeldKilledAnywhere(t *testing.T) {
	testenv.Held(t)
	rounds := testenv.Rounds(8, 100)
	said := make(map[string]int)
	for round := range rounds {
		dir, mark := newDir(t), "anywhere-"+procmgr.NewID()
		opts := &prockeep.Options{Idle: lifetime, Local: proclocal.Options{StopGrace: 50 * time.Millisecond}}
		k, other := open(t, dir, opts), open(t, dir, opts)
		pid := keeperPID(t, k)
		holder := parentOf(t, pid)
		env := map[string]string{"MARK": mark}
		var first []int
		for _, command := range []string{"echo ready; exec sleep 1000", "trap '' TERM; echo ready; while :; do sleep 1; done"} {
			out, err := k.Start(t.Context(), procmgr.StartRequest{Command: command, Env: env})
			require.NoError(t, err)
			out, err = k.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Until: "ready", Wait: long})
			require.NoError(t, err)
			first = append(first, out.Process.PID)
		}

		var wg sync.WaitGroup
		var stopped, did error
		end := round%2 == 0
		wg.Go(func() {
			if end {
				stopped = k.Stop(context.Background())
				return
			}
			did = k.Upgrade(t.Context())
		})
		wg.Go(func() { // another program begins at the same time
			time.Sleep(rand.N(20 * time.Millisecond))
			_, _ = other.Start(t.Context(), procmgr.StartRequest{Command: "exec sleep 1000", Env: env}) // it may be unknown
		})
		time.Sleep(rand.N(150 * time.Millisecond))
		both := round%5 < 2
		if both {
			_ = syscall.Kill(holder, syscall.SIGKILL) // it may have ended
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		wg.Wait()
		if end {
			require.NoError(t, stopped, "round %d", round)
			for _, pid := range first {
				require.False(t, alive(pid), "round %d, holder killed: %v", round, both)
			}
		} else if did != nil {
			said[did.Error()]++
		}

		now := open(t, dir, opts)
		var unknown []int
		require.Eventually(t, func() bool {
			page, err := now.List(t.Context(), procmgr.ListRequest{})
			all := page.Processes
			if err != nil {
				return false
			}
			unknown = slices.DeleteFunc(pidsWith(t, mark), func(pid int) bool {
				return slices.ContainsFunc(all, func(p procmgr.Process) bool { return p.PID == sessionOf(pid) && p.State != procmgr.Exited })
			})
			return len(unknown) == 0
		}, long, 10*time.Millisecond, "round %d, holder killed: %v, unknown: %v", round, both, &unknown)
		require.NoError(t, now.Stop(context.Background()))
		require.Empty(t, pidsWith(t, mark), "round %d", round)
		require.Empty(t, endingIn(t, dir), "round %d", round)
	}
	t.Log("upgrades that were refused:", said)
}

// pidsWith returns the living processes that have a text in their environment.
func pidsWith(t *testing.T, text string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, path := range all {
		env, _ := os.ReadFile(path) // the process may have ended
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && strings.Contains(string(env), text) && alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// sessionOf returns the leader of a process's session: that of a command is its shell.
func sessionOf(pid int) int {
	session, _ := unix.Getsid(pid) // it may have ended
	return session
}

// Whoever starts something just as the keeper is stopped hears what has become of it:
// it ran, in this keeper or the next one, or the stop has ended it.
func TestStopWhileOthersStart(t *testing.T) {
	dir := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 4 {
		k := open(t, dir, nil).Chat(strconv.Itoa(i))
		wg.Go(func() {
			for ctx.Err() == nil {
				out, err := k.Start(t.Context(), procmgr.StartRequest{Command: "echo hi", Wait: long})
				if !assert.NoError(t, err) {
					return
				}
				p := out.Process
				assert.Equal(t, procmgr.Exited, p.State)
				assert.True(t, p.EndedBy == procmgr.CauseExit && out.Text == "hi\n" || p.EndedBy == procmgr.CauseShutdown, "%v %q", p.EndedBy, out.Text)
			}
		})
	}
	for range 20 {
		time.Sleep(rand.N(20 * time.Millisecond))
		k, err := prockeep.Open(t.Context(), dir, nil)
		require.NoError(t, err)
		require.NoError(t, k.Stop(t.Context()))
	}
	cancel()
	wg.Wait()
}
