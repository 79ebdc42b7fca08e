package proclocal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	ctx := t.Context()
	// The second one leaves its session, and its parent ends.
	out, err := l.Start(ctx, procmgr.StartRequest{Command: `
		(setsid sleep 1000 &)
		while :; do n=$((n+1)); if [ "$n" = 200000 ]; then echo busy; fi; if [ "$n" -gt 30000000 ]; then exit; fi; done`})
	require.NoError(t, err)
	id := out.Process.ID
	_, err = l.Output(ctx, id, procmgr.OutputRequest{Until: "busy", Wait: long})
	require.NoError(t, err)
	members := func() map[string]procmgr.Member {
		out, err := l.Output(ctx, id, procmgr.OutputRequest{Members: true})
		require.NoError(t, err)
		all := make(map[string]procmgr.Member)
		last := 0
		for _, m := range out.Members {
			require.Greater(t, m.PID, last)
			last = m.PID
			all[m.Name] = m
			if m.PID == out.Process.PID {
				all["leader"] = m
			}
		}
		return all
	}
	require.Eventually(t, func() bool { return len(members()) == 3 }, long, 10*time.Millisecond)
	all := members()
	require.Greater(t, all["leader"].CPU, time.Duration(0))
	require.Greater(t, all["leader"].Memory, int64(10_000))
	require.NotEqual(t, out.Process.PID, all["sleep"].Parent)
	require.NoError(t, l.Signal(ctx, id, procmgr.Kill))
	require.Empty(t, members())
}
