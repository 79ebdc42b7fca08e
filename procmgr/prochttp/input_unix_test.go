//go:build unix

package prochttp_test

import (
	"context"
	"net/http"
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
				out := start(t, m, procmgr.StartRequest{Command: counts, Stdin: procmgr.StdinPipe})
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

// A wait goes on over several requests, and what was written is written once.
func TestInputInSlices(t *testing.T) {
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	c := newClient(t, p.url, nil)
	prochttp.SetSlice(c, 20*time.Millisecond)
	out := start(t, c, procmgr.StartRequest{Command: `read -r x; sleep 0.3; echo "got $x"; read -r x; echo "and $x"`, Stdin: procmgr.StdinPipe})
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
	c, p := sliced(t, newLocal(t, nil))
	id := start(t, c, procmgr.StartRequest{Command: `sleep 0.3; stty -echo; read -r x; echo "it has ${#x}"`, Stdin: procmgr.StdinTerminal}).Process.ID
	got, err := c.Input(t.Context(), id, procmgr.InputRequest{Data: []byte("hunter2"), Keys: []procmgr.Key{"enter"}, Secret: true, Until: "it has 7", Wait: long})
	require.NoError(t, err)
	require.True(t, got.Matched)
	require.NotContains(t, got.Text, "hunter2")
	require.Greater(t, p.count("/input"), 2)
}

// If no answer comes, the input may have been written: also if the caller gives up while
// the answer is on its way.
func TestInputIsUnknown(t *testing.T) {
	for name, wait := range map[string]time.Duration{"the retries end": long, "the caller gives up": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
			c := newClient(t, p.url, &prochttp.ClientOptions{Token: token, Retry: 100 * time.Millisecond})
			id := start(t, c, procmgr.StartRequest{Command: "exec cat", Stdin: procmgr.StdinPipe}).Process.ID
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			p.set(func(p *proxy) {
				p.plan = every("/input", lostAnswer)
				p.after = func(*http.Request) {
					if wait < long {
						<-ctx.Done()
					}
				}
			})
			req := procmgr.InputRequest{IdempotencyKey: "k", Data: []byte("one\n")}
			_, err := c.Input(ctx, id, req)
			require.ErrorIs(t, err, procmgr.ErrUnknown)
			p.set(func(p *proxy) { p.plan, p.after = nil, nil })
			req.Until, req.Wait = "one", long
			got, err := c.Input(t.Context(), id, req)
			require.NoError(t, err, "Until is no part of what a key stands for")
			require.Equal(t, "one\n", got.Text)
		})
	}
}
