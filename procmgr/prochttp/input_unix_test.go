//go:build unix

package prochttp_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// counts is a command that numbers the lines of its stdin.
const counts = `n=0; while read -r x; do n=$((n+1)); echo "$n $x"; done; echo end`

// Whatever happens to a request or its answer, the input is written once.
func TestFaultOfAnInput(t *testing.T) {
	for _, what := range []fault{lostRequest, lostAnswer, cutAnswer, badGateway} {
		for _, key := range []string{"", "mine"} {
			t.Run(what.String()+" "+key, func(t *testing.T) {
				p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
				m := newClient(t, p.url, nil).Chat("a")
				out, err := m.Start(t.Context(), procmgr.StartRequest{Command: counts, Stdin: procmgr.StdinPipe})
				require.NoError(t, err)
				id := out.Process.ID
				p.set(func(p *proxy) { p.plan = once("/input", what) })
				got, err := m.Input(t.Context(), id, procmgr.InputRequest{IdempotencyKey: key, Data: []byte("one\n"), Until: "one", Wait: long})
				require.NoError(t, err)
				require.Equal(t, 4, got.Written)
				require.Equal(t, "1 one\n", got.Text)
				require.Equal(t, 2, p.count("/input"))
				_, err = m.Input(t.Context(), id, procmgr.InputRequest{Close: true})
				require.NoError(t, err)
				require.Equal(t, "1 one\nend\n", ended(t, m, id).Text)
			})
		}
	}
}

// Over two handlers, with lost requests and answers everywhere and a handler in
// the middle that is restarted again and again, each input is written once, in
// its order.
func TestFaultsOfInputOverAChain(t *testing.T) {
	lossy := func(p *proxy) {
		p.plan = func(r *http.Request) fault {
			if !strings.HasSuffix(r.URL.Path, "/input") || rand.N(3) > 0 {
				return none
			}
			return fault(1 + rand.N(4))
		}
	}
	inner := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	middle := &restarted{make: func() http.Handler { return newHandler(t, newClient(t, inner.url, nil), nil) }}
	middle.restart()
	outer := newProxy(t, serve(t, middle))
	m := newClient(t, outer.url, nil).Chat("a")
	inner.set(lossy)
	outer.set(lossy)
	out, err := m.Start(t.Context(), procmgr.StartRequest{Command: counts, Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	id := out.Process.ID
	var want strings.Builder
	for i := range 30 {
		if i%5 == 0 {
			middle.restart()
		}
		line := fmt.Sprintf("line-%d", i)
		got, err := m.Input(t.Context(), id, procmgr.InputRequest{Data: []byte(line + "\n"), Until: line + "$", Wait: long})
		require.NoError(t, err)
		require.True(t, got.Matched)
		fmt.Fprintf(&want, "%d %s\n", i+1, line)
	}
	_, err = m.Input(t.Context(), id, procmgr.InputRequest{Close: true})
	require.NoError(t, err)
	require.Equal(t, want.String()+"end\n", ended(t, m, id).Text)
}

// A restarted is a handler of which a test makes new ones.
type restarted struct {
	make func() http.Handler
	mu   sync.Mutex // guards now
	now  http.Handler
}

func (h *restarted) restart() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.make()
}

func (h *restarted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	now := h.now
	h.mu.Unlock()
	now.ServeHTTP(w, r)
}

// A wait goes on over several requests, and what was written is written once.
func TestInputInSlices(t *testing.T) {
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	c := newClient(t, p.url, nil)
	prochttp.SetSlice(c, 20*time.Millisecond)
	out, err := c.Start(t.Context(), procmgr.StartRequest{Command: `read -r x; sleep 0.3; echo "got $x"; read -r x; echo "and $x"`, Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	got, err := c.Input(t.Context(), out.Process.ID, procmgr.InputRequest{Data: []byte("one\n"), Until: "got", Wait: long})
	require.NoError(t, err)
	require.True(t, got.Matched)
	require.Equal(t, "got one\n", got.Text)
	require.Greater(t, p.count("/input"), 2)
	got, err = c.Input(t.Context(), out.Process.ID, procmgr.InputRequest{Data: []byte("two\n"), UntilQuiet: 100 * time.Millisecond, Wait: long})
	require.NoError(t, err)
	require.Equal(t, "and two\n", got.Text)
}

// A secret waits for its program longer than one request.
func TestSecretInSlices(t *testing.T) {
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	c := newClient(t, p.url, nil)
	prochttp.SetSlice(c, 20*time.Millisecond)
	out, err := c.Start(t.Context(), procmgr.StartRequest{Command: `sleep 0.3; stty -echo; read -r x; echo "it has ${#x}"`, Stdin: procmgr.StdinTerminal})
	require.NoError(t, err)
	got, err := c.Input(t.Context(), out.Process.ID, procmgr.InputRequest{Data: []byte("hunter2"), Keys: []procmgr.Key{"enter"}, Secret: true, Until: "it has 7", Wait: long})
	require.NoError(t, err)
	require.True(t, got.Matched)
	require.NotContains(t, got.Text, "hunter2")
	require.Greater(t, p.count("/input"), 2)
}

// If no answer comes, the input may have been written.
func TestInputIsUnknown(t *testing.T) {
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	c := newClient(t, p.url, &prochttp.ClientOptions{Token: token, Retry: 100 * time.Millisecond})
	out, err := c.Start(t.Context(), procmgr.StartRequest{Command: "exec cat", Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	p.set(func(p *proxy) {
		p.plan = func(r *http.Request) fault {
			if strings.HasSuffix(r.URL.Path, "/input") {
				return lostAnswer
			}
			return none
		}
	})
	req := procmgr.InputRequest{IdempotencyKey: "k", Data: []byte("one\n")}
	_, err = c.Input(t.Context(), out.Process.ID, req)
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	p.set(func(p *proxy) { p.plan = nil })
	req.Until, req.Wait = "one", long
	got, err := c.Input(t.Context(), out.Process.ID, req)
	require.NoError(t, err, "Until is no part of what a key stands for")
	require.Equal(t, "one\n", got.Text)
}
