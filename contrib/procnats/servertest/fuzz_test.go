package servertest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
)

// Whatever the data of a request is, the handler is asked for the chat and the
// call of its subject, or not at all.
func FuzzRequest(f *testing.F) {
	for _, chat := range []string{"", "bob-1", "alice-1", "bob%2D1"} {
		f.Add(request(http.MethodPost, "/list", chat, "{}"))
		f.Add(request(http.MethodGet, "/x/list", chat, ""))
		f.Add(request(http.MethodPost, "/start", chat, `{"command":"true"}`))
	}
	f.Add([]byte("GET http://x/list HTTP/1.1\r\nHost: x\r\nToolproc-Chat-Id: bob-1\r\nToolproc-Chat-Id: alice-1\r\n\r\n"))
	f.Add([]byte("GET /list HTTP/1.1\r\nHost: x\r\ntoolproc-chat-id:alice-1\r\nTransfer-Encoding: chunked\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	server := newServer(f, nil).ClientURL()
	var asked atomic.Value // what the handler was asked for
	service, err := procnats.Serve(f.Context(), connect(f, server), "build", http.HandlerFunc(func(res http.ResponseWriter, r *http.Request) {
		res.Header().Set("Toolproc-Instance", "x")
		path := r.URL.EscapedPath()
		asked.Store(fmt.Sprintf("%q %s", r.Header.Values("Toolproc-Chat-Id"), path[strings.LastIndex(path, "/")+1:]))
	}), nil)
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, service.Close()) })
	nc := connect(f, server)
	f.Fuzz(func(t *testing.T, data []byte) {
		for subject, want := range map[string]string{aliceChat: `["alice-1"] list`, "_host": "[] list"} {
			asked.Store("")
			_, err := nc.RequestMsg(&nats.Msg{Subject: "toolproc.build." + subject + ".list", Data: data}, time.Minute)
			require.NoError(t, err)
			require.Contains(t, []any{"", want}, asked.Load())
		}
	})
}
