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

// A chat that spends IDs without end pushes out its own IDs, and not those of
// another chat.
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
