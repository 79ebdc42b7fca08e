package prochttp_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A wait for a port goes on over several requests, and each of them says for
// which port.
func TestPortInSlices(t *testing.T) {
	asked := make(chan struct{}, 100)
	a := &actor{t: t, output: func(ctx context.Context, req procmgr.OutputRequest) (procmgr.Output, error) {
		assert.Equal(t, 3000, req.UntilListening)
		out := web()
		if req.Wait == 0 {
			asked <- struct{}{}
			return out, nil
		}
		for range 3 {
			select {
			case <-asked:
			case <-ctx.Done():
				return out, ctx.Err()
			}
		}
		out.Listening = []procmgr.Socket{{Network: "tcp6", Addr: "[::]:3000", PID: 4760}}
		return out, nil
	}}
	c := newClient(t, serve(t, newHandler(t, a, nil)), nil)
	prochttp.SetSlice(c, 20*time.Millisecond)
	out, err := c.Output(t.Context(), "web", procmgr.OutputRequest{UntilListening: 3000, Wait: long})
	require.NoError(t, err)
	require.Equal(t, []procmgr.Socket{{Network: "tcp6", Addr: "[::]:3000", PID: 4760}}, out.Listening)
}

// If the Host behind the handler cannot tell ports, the client's error says so.
func TestPortsAreUnsupported(t *testing.T) {
	a := &actor{t: t, output: func(context.Context, procmgr.OutputRequest) (procmgr.Output, error) {
		return procmgr.Output{}, xerrors.Errorf("the ports of a process cannot be told on plan9: %w", errors.ErrUnsupported)
	}}
	inner := newClient(t, serve(t, newHandler(t, a, nil)), nil)
	outer := newClient(t, serve(t, newHandler(t, inner, nil)), nil)
	_, err := outer.Output(t.Context(), "web", procmgr.OutputRequest{Ports: true})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.Equal(t, "the ports of a process cannot be told on plan9", procmgr.Reason(err))
}
