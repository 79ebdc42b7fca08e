package proclocal_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

var number = regexp.MustCompile(`(?m)^\d+$`)

func TestClose(t *testing.T) {
	needs(t, "signals")
	l, err := proclocal.New(&proclocal.Options{StopGrace: 2 * time.Second})
	require.NoError(t, err)
	polite := begin(t, l, "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done").Process.ID
	stubborn := begin(t, l.Chat("a"), "trap '' TERM; echo ready; while :; do sleep 0.01; done").Process.ID
	detached := run(t, l, "sleep 1000 & echo $!")
	escaped := run(t, l, "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
	done := run(t, l, "echo done").Process.ID

	began := time.Now()
	require.NoError(t, l.Close())
	require.Less(t, time.Since(began), long/2)
	require.NoError(t, l.Close(), "a second Close returns what the first did")

	for id, want := range map[string]struct {
		code  int
		cause procmgr.Cause
	}{
		polite:              {5, procmgr.CauseShutdown},
		stubborn:            {137, procmgr.CauseShutdown},
		detached.Process.ID: {0, procmgr.CauseShutdown},
		escaped.Process.ID:  {0, procmgr.CauseShutdown},
		done:                {0, procmgr.CauseExit},
	} {
		out, err := l.Output(t.Context(), id, procmgr.OutputRequest{})
		require.NoError(t, err, "what was printed can still be read")
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Equal(t, want.code, *out.Process.ExitCode)
		require.Equal(t, want.cause, out.Process.EndedBy)
	}
	require.False(t, alive(strings.TrimSpace(detached.Text)))
	require.False(t, alive(strings.TrimSpace(escaped.Text)))
	_, err = l.Start(context.Background(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrClosed)
}
