package proclocal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func TestOutputMemory(t *testing.T) {
	const each = 10_000
	l := newLocal(t, &proclocal.Options{OutputMemory: 3 * each, Head: each, Tail: each})
	print := fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", each)
	running := begin(t, l, "echo ready; exec sleep 1000")
	var ids []string
	for range 5 {
		ids = append(ids, run(t, l, print).Process.ID)
	}
	text := func(id string) string {
		out := output(t, l, id, procmgr.OutputRequest{})
		require.Equal(t, int64(each), out.Next, "a tombstone still knows how much there was")
		return out.Text
	}
	// 6 bytes of the process that runs count too, so two of the three fit.
	for i, id := range ids {
		if i < 3 {
			require.Empty(t, text(id), "process %d", i)
		} else {
			require.Len(t, text(id), each, "process %d", i)
		}
	}
	out := output(t, l, running.Process.ID, procmgr.OutputRequest{})
	require.Equal(t, "ready\n", out.Text, "what runs is never dropped")
}

// While a process prints, its output takes the place of the output of processes
// that have exited.
func TestOutputMemoryOfRunning(t *testing.T) {
	l := newLocal(t, &proclocal.Options{OutputMemory: 10_000, Head: 8_000, Tail: 8_000})
	old := run(t, l, "head -c 5000 /dev/zero | tr '\\0' x")
	require.Len(t, old.Text, 5000)
	begin(t, l, "head -c 9000 /dev/zero | tr '\\0' x; echo; echo ready; exec sleep 1000")
	out := output(t, l, old.Process.ID, procmgr.OutputRequest{})
	require.Empty(t, out.Text)
	require.Equal(t, int64(5000), out.Truncated.OmittedBytes)
}

func TestLimits(t *testing.T) {
	l := newLocal(t, &proclocal.Options{MaxRunningPerChat: 2, MaxRunning: 3})
	a, b, c := l.Chat("a"), l.Chat("b"), l.Chat("c")
	sleeper := procmgr.StartRequest{Command: "exec sleep 1000"}
	first := start(t, a, sleeper)
	for range 20 { // a process that has ended never counts
		run(t, a, "true")
	}
	start(t, a, sleeper)
	_, err := a.Start(t.Context(), procmgr.StartRequest{ID: "third", Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	require.ErrorContains(t, err, "2 processes run in this chat")
	require.ErrorContains(t, err, first.Process.ID, "it says what could be ended")

	start(t, b, sleeper)
	_, err = c.Start(t.Context(), sleeper)
	require.ErrorIs(t, err, procmgr.ErrLimit)
	require.ErrorContains(t, err, "3 processes run on this host")
	require.NotContains(t, err.Error(), first.Process.ID, "another chat's IDs are none of its business")

	require.NoError(t, a.Signal(t.Context(), first.Process.ID, procmgr.Kill))
	out, err := a.Start(t.Context(), procmgr.StartRequest{ID: "third", Command: "echo ran", Wait: long})
	require.NoError(t, err, "the refused ID is unused")
	require.Equal(t, "ran\n", out.Text)

	t.Run("default", func(t *testing.T) {
		l := newLocal(t, &proclocal.Options{StopGrace: -1})
		for range 64 {
			start(t, l.Chat("a"), sleeper)
		}
		_, err := l.Chat("a").Start(t.Context(), sleeper)
		require.ErrorIs(t, err, procmgr.ErrLimit)
	})
}
