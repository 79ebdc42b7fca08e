package prochttp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// A client is told that a process is stopped, and can end it.
func TestStopped(t *testing.T) {
	c := overTCP(t, nil)
	id := begin(t, c, "echo ready; kill -STOP $$").Process.ID
	require.Eventually(t, func() bool {
		out, err := c.Output(t.Context(), id, procmgr.OutputRequest{})
		require.NoError(t, err)
		page, err := c.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
		require.NoError(t, err)
		return out.Process.Stopped && all[0].Stopped
	}, long, time.Millisecond)
	require.NoError(t, c.Signal(t.Context(), id, procmgr.Terminate))
	require.False(t, ended(t, c, id).Process.Stopped)
}
