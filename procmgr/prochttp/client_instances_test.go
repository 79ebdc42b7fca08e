package prochttp_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// If two calls have one ID, the call whose request is late does not know what
// the other call has done on a server that is gone.
func TestRestartBetweenTwoCallsOfOneID(t *testing.T) {
	for name, leave := range map[string]bool{"the late one arrives": false, "the late one is given up": true} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
			other := serve(t, newHandler(t, newLocal(t, nil), nil))
			late := &lateStart{held: make(chan struct{}), release: make(chan struct{})}
			defer late.CloseIdleConnections()
			c := newClient(t, p.url, &prochttp.ClientOptions{Token: token, Transport: late})
			m := c.Chat("a")
			_, err := m.List(t.Context(), procmgr.ListRequest{})
			require.NoError(t, err)

			command, ran := effects(t)
			req := procmgr.StartRequest{ID: "x", Command: command, Wait: long}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			first := make(chan error)
			go func() {
				_, err := m.Start(ctx, req)
				first <- err
			}()
			<-late.held
			start(t, m, req)
			want := procmgr.ErrUnknown
			if leave {
				stop()
				want = context.Canceled
			} else {
				p.set(func(p *proxy) { p.backend = other })
			}
			close(late.release)
			require.ErrorIs(t, <-first, want)
			p.set(func(p *proxy) { p.backend = other })
			_, err = m.Start(t.Context(), req)
			require.ErrorIs(t, err, procmgr.ErrUnknown)
			require.Equal(t, 1, ran())
		})
	}
}

// lateStart holds the first start back before it is sent.
type lateStart struct {
	http.Transport
	starts        atomic.Int32
	held, release chan struct{}
}

func (l *lateStart) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/start" && l.starts.Add(1) == 1 {
		close(l.held)
		<-l.release
	}
	return l.Transport.RoundTrip(r)
}
