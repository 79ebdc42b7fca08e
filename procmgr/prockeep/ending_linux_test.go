package prockeep_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
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
	e.k = open(t, e.dir, &prockeep.Options{Local: procmgr.Options{StopGrace: long}})
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
