package servertest_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// BenchmarkStart compares a start and its wait over NATS with one over TCP, and
// with one in this process.
func BenchmarkStart(b *testing.B) {
	local := newLocal(b)
	handler := newHandler(b, local)
	web := httptest.NewServer(handler)
	defer web.Close()
	tcp, err := prochttp.NewClient(web.URL, nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, tcp.Close()) })
	url := newServer(b, nil).ClientURL()
	serve(b, connect(b, url), "build", handler, nil)
	for _, way := range []struct {
		name string
		host procmgr.Host
	}{{"here", local}, {"TCP", tcp}, {"NATS", newClient(b, connect(b, url), "build")}} {
		b.Run(way.name, func(b *testing.B) {
			m := way.host.Chat("a")
			for b.Loop() {
				_, err := m.Start(b.Context(), procmgr.StartRequest{Command: "true", Wait: long})
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkList has no process in it: what the way alone costs.
func BenchmarkList(b *testing.B) {
	local := newLocal(b)
	handler := newHandler(b, local)
	web := httptest.NewServer(handler)
	defer web.Close()
	tcp, err := prochttp.NewClient(web.URL, nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, tcp.Close()) })
	url := newServer(b, nil).ClientURL()
	serve(b, connect(b, url), "build", handler, nil)
	for _, way := range []struct {
		name string
		host procmgr.Host
	}{{"TCP", tcp}, {"NATS", newClient(b, connect(b, url), "build")}} {
		b.Run(way.name, func(b *testing.B) {
			m := way.host.Chat("a")
			for b.Loop() {
				_, err := m.List(b.Context(), procmgr.ListRequest{})
				require.NoError(b, err)
			}
		})
	}
}
