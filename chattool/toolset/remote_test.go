//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A transport that holds back the first start until it is released, and brings
// it to the server whatever has become of its caller.
type lateTransport struct {
	held, release, arrived chan struct{}
}

func newLate() *lateTransport {
	return &lateTransport{held: make(chan struct{}), release: make(chan struct{}), arrived: make(chan struct{})}
}

func (l *lateTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/start" {
		return http.DefaultTransport.RoundTrip(r)
	}
	late := r.Clone(context.WithoutCancel(r.Context()))
	go func() {
		defer close(l.arrived)
		close(l.held)
		<-l.release
		if res, err := http.DefaultTransport.RoundTrip(late); err == nil {
			res.Body.Close()
		}
	}()
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Stop is pressed while the start is still on its way to another machine. It
// arrives all the same, and runs nothing.
func TestStopBeforeTheStartArrives(t *testing.T) {
	t.Parallel()
	host := newHost(t, nil)
	late := newLate()
	l := &local{t: t, set: newSet(toolset.Static(remote(t, host, nil, &prochttp.ClientOptions{Transport: late})), nil)}
	file := filepath.Join(t.TempDir(), "ran")
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-late.held
		stop()
	}()
	got := l.call(ctx, "execute", "command", "touch "+file+"; exec sleep 1000", "timeout", "1h")
	require.Equal(t, "the call was canceled; the command was not started", got["error"])
	close(late.release)
	<-late.arrived

	_, err := os.Stat(file)
	require.ErrorIs(t, err, os.ErrNotExist)
	page, err := host.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Empty(t, page.Processes)
}
