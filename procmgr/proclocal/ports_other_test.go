//go:build !linux

package proclocal_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// No other platform than Linux tells ports, and a call says so at once.
func TestPortsAreUnsupported(t *testing.T) {
	l := newLocal(t, nil)
	id := run(t, l, "exit 0").Process.ID
	for _, req := range []procmgr.OutputRequest{{Ports: true}, {UntilListening: -1, Wait: long}} {
		_, err := l.Output(t.Context(), id, req)
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
}
