package proclocal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
	require.ErrorContains(t, err, "2 processes run in this chat, and its limit is 2; end one of this chat's first")
	require.ErrorContains(t, err, first.Process.ID, "it says what could be ended")

	only := start(t, b, sleeper)
	_, err = c.Start(t.Context(), sleeper)
	require.ErrorIs(t, err, procmgr.ErrLimit)
	require.Equal(t, "this host runs as many processes as it may; try again when some have ended", procmgr.Reason(err), "other chats' processes are none of its business")
	_, err = b.Start(t.Context(), sleeper)
	require.ErrorContains(t, err, "1 process runs in this chat: end one (it is "+only.Process.ID+"), or try again")

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

// The same holds when only the tombstone is left.
func TestTombstone(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Retain: time.Nanosecond})
	command := "echo hello; exit 3 # " + strings.Repeat("x", 1000)
	c := l.Chat("a")
	req := procmgr.StartRequest{ID: "x", Command: command, Wait: long}
	out := start(t, c, req)
	require.Equal(t, "hello\n", out.Text)

	eventually(t, "the record goes", func() bool { return len(list(t, c)) == 0 })
	for _, m := range []procmgr.Manager{c, l} {
		out = output(t, m, "x", procmgr.OutputRequest{Wait: long})
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Equal(t, 3, *out.Process.ExitCode)
		require.Equal(t, procmgr.CauseExit, out.Process.EndedBy)
		require.Less(t, len(out.Process.Command), 300)
		require.Empty(t, out.Text)
		require.Equal(t, int64(6), out.Truncated.OmittedBytes)
		require.Equal(t, int64(6), out.Truncated.OriginalBytes)
		require.Equal(t, int64(6), out.Next)
	}
	out = output(t, c, "x", procmgr.OutputRequest{From: 6})
	require.Nil(t, out.Truncated, "nothing after 6 is gone")
	out = output(t, c, "x", procmgr.OutputRequest{Until: "hello"})
	require.False(t, out.Matched)
	require.Equal(t, int64(6), out.Unsearched)
	require.True(t, output(t, c, "x", procmgr.OutputRequest{Until: "."}).Matched, "there was some, whatever it was")

	out = start(t, c, req)
	require.True(t, out.Attached)
	require.Equal(t, 3, *out.Process.ExitCode)
	req.Command = "true"
	_, err := c.Start(t.Context(), req)
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.ErrorIs(t, c.Signal(t.Context(), "x", procmgr.Kill), procmgr.ErrNotRunning)
	require.ErrorIs(t, l.Chat("b").Signal(t.Context(), "x", procmgr.Interrupt), procmgr.ErrNotFound)
}

// A chat that spends IDs without end pushes out its own IDs, and not another
// chat's.
func TestTombstonesAreSharedFairly(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Retain: time.Nanosecond})
	modest, greedy := l.Chat("modest"), l.Chat("greedy")
	start(t, modest, procmgr.StartRequest{ID: "mine", Command: "exit 7", Wait: long})
	for i := range remembered + 10 {
		require.ErrorIs(t, greedy.Signal(t.Context(), fmt.Sprint("x", i), procmgr.Kill), procmgr.ErrNotFound)
	}
	require.Equal(t, 7, *output(t, modest, "mine", procmgr.OutputRequest{}).Process.ExitCode)
	_, err := greedy.Start(t.Context(), procmgr.StartRequest{ID: "x0", Command: "true", Wait: long})
	require.NoError(t, err, "its oldest is forgotten")
	_, err = greedy.Start(t.Context(), procmgr.StartRequest{ID: "x100", Command: "true", Wait: long})
	require.ErrorIs(t, err, procmgr.ErrConflict)
}
