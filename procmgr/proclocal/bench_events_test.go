package proclocal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// What the events cost a command: one with twice as many events, beside one with
// those that it has anyway.
func BenchmarkEventsOfTrue(b *testing.B) {
	l := newLocal(b, nil)
	proclocal.Tell(l, "", proclocal.MaxChatEvents) // from here on each event drops one
	beside.Run(b, func() {
		require.NoError(b, runTrue(l))
		proclocal.Tell(l, "", 2)
	}, func() { require.NoError(b, runTrue(l)) })
}

// One event of a manager that keeps as many as it can.
func BenchmarkEvent(b *testing.B) {
	l := newLocal(b, nil)
	for chat := range proclocal.MaxEvents / 512 {
		proclocal.Tell(l, string(rune('a'+chat)), 512)
	}
	for b.Loop() {
		proclocal.Tell(l, "a", 1)
	}
}
