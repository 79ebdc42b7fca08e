package proclocal_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/asktest"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	// The second one leaves its session, and its parent ends.
	out := start(t, l, procmgr.StartRequest{Command: `
		(setsid sleep 1000 &)
		while :; do n=$((n+1)); if [ "$n" = 200000 ]; then echo busy; fi; if [ "$n" -gt 30000000 ]; then exit; fi; done`})
	id, leader := out.Process.ID, out.Process.PID
	ready(t, l, id, "busy")
	members := func() []procmgr.Member {
		return output(t, l, id, procmgr.OutputRequest{Members: true}).Members
	}
	var all []procmgr.Member
	eventually(t, "the other one has become sleep", func() bool {
		all = members()
		return len(all) == 2 && slices.ContainsFunc(all, func(m procmgr.Member) bool { return m.Name == "sleep" })
	})
	require.Less(t, all[0].PID, all[1].PID)
	for _, m := range all {
		if m.PID == leader {
			require.Positive(t, m.CPU)
			require.Greater(t, m.Memory, int64(10_000))
		} else {
			require.NotEqual(t, leader, m.Parent)
		}
	}
	require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
	require.Empty(t, members())
}

func TestWaiting(t *testing.T) { asktest.Check(t, newLocal(t, nil), 5) }

func TestHeldWaiting(t *testing.T) {
	testenv.Held(t)
	asktest.Check(t, newLocal(t, nil), 0)
}
