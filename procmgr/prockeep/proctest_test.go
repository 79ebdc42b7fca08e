//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// The suite of every Host, through one keeper, and while an earlier one drains.
func TestHeldHost(t *testing.T) {
	testenv.Held(t)
	t.Run("one keeper", func(t *testing.T) {
		h := open(t, newDir(t), nil)
		proctest.TestHost(t, func(*testing.T) procmgr.Host { return h })
	})
	t.Run("beside a draining keeper", func(t *testing.T) {
		dir := newDir(t)
		begin(t, open(t, dir, nil), "old", "echo ready; exec sleep 1000")
		h := open(t, dir, &prockeep.Options{Replace: true})
		proctest.TestHost(t, func(*testing.T) procmgr.Host { return h })
		out, err := h.Output(t.Context(), "old", procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, procmgr.Running, out.Process.State)
	})
}
