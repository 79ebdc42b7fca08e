package servertest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
)

// A witness is a handler that notes what it is asked for.
type witness struct {
	mu   sync.Mutex
	last string
}

func (w *witness) ServeHTTP(res http.ResponseWriter, r *http.Request) {
	res.Header().Set("Toolproc-Instance", "x")
	chat := "none"
	if values := r.Header.Values("Toolproc-Chat-Id"); len(values) > 0 {
		id, err := url.PathUnescape(values[0])
		chat = fmt.Sprintf("%q %v %d", id, err, len(values))
	}
	path := r.URL.EscapedPath()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = chat + " " + path[strings.LastIndex(path, "/")+1:]
}

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
	w := &witness{}
	service, err := procnats.Serve(f.Context(), connect(f, server), "build", w, nil)
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, service.Close()) })
	nc := connect(f, server)
	f.Fuzz(func(t *testing.T, data []byte) {
		for subject, want := range map[string]string{aliceChat: `"alice-1" <nil> 1 list`, "_host": "none list"} {
			w.mu.Lock()
			w.last = ""
			w.mu.Unlock()
			_, err := nc.RequestMsg(&nats.Msg{Subject: "toolproc.build." + subject + ".list", Data: data}, time.Minute)
			require.NoError(t, err)
			w.mu.Lock()
			last := w.last
			w.mu.Unlock()
			if last != "" {
				require.Equal(t, want, last)
			}
		}
	})
}
