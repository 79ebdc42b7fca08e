//go:build unix

package procview_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	_, base := serve(t, l, &procview.Options{Token: token})
	id := start(t, l, "a", `seq 1 100000; printf '\033[31mred\033[0m\377é'; exit 2`)
	want := ended(t, l, id)
	res := call{path: id + "/output"}.do(t.Context(), t, base)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))
	var all strings.Builder
	for i := range 100000 {
		fmt.Fprintln(&all, i+1)
	}
	all.WriteString("red\uFFFDé")
	require.Equal(t, all.String(), string(got))

	t.Run("a part", func(t *testing.T) {
		type part struct {
			Text string
			From int64
			Next int64
		}
		// The parts of a stream, from its end to its beginning, are the stream.
		text := ""
		for to := want.Next; to > 0; {
			one := get[part](t, base, fmt.Sprintf("%s/part?from=%d&to=%d", id, max(0, to-99_999), to))
			require.Equal(t, to, one.Next)
			text, to = one.Text+text, one.From
		}
		require.Equal(t, all.String(), text)
	})
}

// TestResume reads the output of a process in several requests, each cut off somewhere.
func TestResume(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	_, base := serve(t, l, &procview.Options{Token: token})
	id := start(t, l, "a", `n=0; while [ $n -lt 3000 ]; do n=$((n+1)); echo "line $n"; done; exit 0`)
	var got strings.Builder
	last, over := "", false
	for n := 0; !over; n++ {
		ctx, cancel := context.WithTimeout(t.Context(), long)
		res := call{path: "stream?chat=a&id=" + id, header: map[string]string{"Last-Event-ID": last}}.do(ctx, t, base)
		require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
		chunks := 0
		events(t, res.Body, func(e sent) bool {
			if e.name != "chunk" {
				return true
			}
			var chunk struct{ Text string }
			require.NoError(t, json.Unmarshal(e.data, &chunk))
			got.WriteString(chunk.Text)
			last = e.id
			over = strings.HasSuffix(got.String(), "line 3000\n")
			chunks++
			return chunks <= n && !over
		})
		cancel()
		res.Body.Close()
		require.NotEmpty(t, last)
		require.Less(t, n, 1000)
	}
	var want strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&want, "line %d\n", i+1)
	}
	require.Equal(t, want.String(), got.String())
}

// counting counts the calls that wait now.
type counting struct {
	procmgr.Manager
	waits *atomic.Int64
}

func (c counting) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if req.Wait > 0 {
		c.waits.Add(1)
		defer c.waits.Add(-1)
	}
	return c.Manager.Output(ctx, id, req)
}

// TestFiftyPages has many pages open. They cost no more than so many Follows, and
// nothing once they have gone.
func TestFiftyPages(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	waits := new(atomic.Int64)
	host := procmgr.WrapHost(l, func(_ string, m procmgr.Manager) procmgr.Manager { return counting{m, waits} })
	_, base := serve(t, host, &procview.Options{Token: token})
	id := start(t, l, "a", "echo begin; exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 50 {
		page := call{path: "stream?chat=a&id=" + id}.do(ctx, t, base)
		defer page.Body.Close()
		events(t, page.Body, func(e sent) bool { return e.name != "chunk" || !strings.Contains(string(e.data), "begin") })
	}
	require.LessOrEqual(t, waits.Load(), int64(50))
	cancel()
	require.Eventually(t, func() bool { return waits.Load() == 0 }, long, 10*time.Millisecond)
}

// TestStream has the events of a page.
func TestStream(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	v, base := serve(t, l, &procview.Options{Token: token})
	set, err := toolset.New(toolset.Static(l.Chat("a")), &toolset.Options{OnResult: v.Result})
	require.NoError(t, err)
	one := set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"echo one"}`)})
	id := one.Output.Process.ID
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	res := call{path: "stream?chat=a&id=" + id}.do(ctx, t, base)
	defer res.Body.Close()
	seen := make(map[string]string)
	second := ""
	events(t, res.Body, func(e sent) bool {
		if e.name == "reading" && seen["reading"] == "" {
			second = set.Call(t.Context(), toolset.Call{Name: "process_output", Arguments: fmt.Appendf(nil, `{"process_id":%q,"since":2}`, id)}).Content
			start(t, l, "b", "echo other; exit 4")
		}
		seen[e.name] += string(e.data) + "\n"
		return !strings.Contains(seen["processes"], `"exit_code":4`) || strings.Count(seen["reading"], "\n") < 2
	})
	require.Contains(t, seen["list"], id)
	require.Contains(t, seen["chunk"], `"text":"one\n"`)
	type reading struct {
		Results []struct{ Content string }
		Spans   []toolset.Span
		Wired   bool
	}
	var readings []reading
	for line := range strings.Lines(seen["reading"]) {
		var one reading
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		readings = append(readings, one)
	}
	require.True(t, readings[0].Wired)
	require.Equal(t, one.Content, readings[0].Results[0].Content)
	require.Equal(t, []toolset.Span{{From: 0, To: 4}}, readings[0].Spans)
	require.Len(t, readings[1].Results, 1, "what is new alone")
	require.Equal(t, second, readings[1].Results[0].Content)
}

// TestManagerDies has a manager on the other end of a connection that ends, and comes
// back with its processes.
func TestManagerDies(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	handler, err := prochttp.NewHandler(l, &prochttp.HandlerOptions{Insecure: true})
	require.NoError(t, err)
	var down atomic.Bool
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(far.Close)
	client, err := prochttp.NewClient(far.URL, &prochttp.ClientOptions{Retry: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	_, base := serve(t, client, &procview.Options{Token: token})
	stop := filepath.Join(t.TempDir(), "stop")
	id := start(t, l, "a", fmt.Sprintf(`n=0; while [ ! -e %s ]; do n=$((n+1)); echo "line $n"; sleep 0.01; done`, stop))
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	res := call{path: "stream?chat=a&id=" + id}.do(ctx, t, base)
	defer res.Body.Close()
	var got strings.Builder
	stage := 0
	events(t, res.Body, func(e sent) bool {
		if e.name == "chunk" {
			var chunk struct{ Text string }
			require.NoError(t, json.Unmarshal(e.data, &chunk))
			got.WriteString(chunk.Text)
		}
		switch {
		case stage == 0 && got.Len() > 0:
			stage = 1
			down.Store(true)
		case stage == 1 && e.name == "trouble" && strings.Contains(string(e.data), `"error":"`) && !strings.Contains(string(e.data), `"error":""`):
			stage = 2
			down.Store(false)
		case stage == 2 && e.name == "chunk":
			stage = 3
			require.NoError(t, os.WriteFile(stop, nil, 0o600))
		case stage == 3 && strings.Contains(string(e.data), `"state":"exited"`) && e.name == "chunk":
			return false
		}
		return true
	})
	require.Equal(t, 3, stage)
	out := ended(t, l, id)
	var want strings.Builder
	for i := range strings.Count(out.Text, "\n") {
		fmt.Fprintf(&want, "line %d\n", i+1)
	}
	require.Equal(t, want.String(), got.String())
}
