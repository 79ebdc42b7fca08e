package servertest_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// way is a way to a Host.
type way struct {
	name string
	host procmgr.Host
}

// ways returns a Host in this process, the same over TCP, and over NATS.
func ways(b *testing.B) []way {
	b.Helper()
	local := newLocal(b)
	handler := newHandler(b, local)
	web := httptest.NewServer(handler)
	b.Cleanup(web.Close)
	tcp, err := prochttp.NewClient(web.URL, nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, tcp.Close()) })
	url := newServer(b, nil).ClientURL()
	serve(b, connect(b, url), "build", handler, nil)
	return []way{{"here", local}, {"TCP", tcp}, {"NATS", newClient(b, connect(b, url), "build")}}
}

// BenchmarkList has no process in it: what the way alone costs.
func BenchmarkList(b *testing.B) {
	for _, way := range ways(b) {
		b.Run(way.name, func(b *testing.B) {
			m := way.host.Chat("a")
			for b.Loop() {
				_, err := m.List(b.Context(), procmgr.ListRequest{})
				require.NoError(b, err)
			}
		})
	}
}
