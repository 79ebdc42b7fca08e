package prochttp_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// sliced returns a client that waits in slices of 20 ms, and its proxy.
func sliced(t *testing.T, local procmgr.Host) (*prochttp.Client, *proxy) {
	t.Helper()
	p := newProxy(t, serve(t, newHandler(t, local, nil)))
	c := newClient(t, p.url, nil)
	prochttp.SetSlice(c, 20*time.Millisecond)
	return c, p
}

// A start that takes many requests is one start with one answer.
func TestStartInSlices(t *testing.T) {
	c, p := sliced(t, newLocal(t, nil))
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "go"))
	p.set(func(p *proxy) {
		p.before = func(*http.Request) {
			if p.count("/output") > 3 {
				assert.NoError(t, os.WriteFile(file, nil, 0o600))
			}
		}
	})
	out := run(t, c.Chat("a"), "echo begin; while [ ! -e "+file+" ]; do sleep 0.01; done; echo end; exit 3")
	require.Equal(t, "begin\nend\n", out.Text)
	require.Equal(t, 3, *out.Process.ExitCode)
	require.False(t, out.Attached)
	require.Equal(t, 1, p.count("/start"))
	require.Greater(t, p.count("/output"), 3)

	// Its wait is the whole wait.
	began := time.Now()
	out = start(t, c.Chat("a"), procmgr.StartRequest{Command: "exec sleep 1000", Wait: 300 * time.Millisecond})
	require.Equal(t, procmgr.Running, out.Process.State)
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
}

// A wait in slices is one wait. What it has not searched is told at its end, whatever
// number of requests it takes, and what was dropped while it went on has been searched.
func TestUnsearchedInSlices(t *testing.T) {
	t.Parallel()
	host := &countingHost{Local: newLocal(t, &proclocal.Options{Head: 100, Tail: 100})}
	c, p := sliced(t, host)
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "go"))
	id := begin(t, host, `seq 1000; echo ready; while [ ! -e `+file+` ]; do sleep 0.01; done; seq 1000; echo done; exec sleep 1000`).Process.ID
	first := output(t, host, id, procmgr.OutputRequest{})
	dropped := first.Next - 200
	require.Equal(t, dropped, first.Truncated.OmittedBytes)

	before, requests := host.waiting.Load(), p.count("/output")
	done := make(chan procmgr.Output)
	go func() {
		out, err := c.Output(t.Context(), id, procmgr.OutputRequest{Until: "never", Wait: 4 * time.Second})
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	// It has begun in the first of its requests.
	require.Eventually(t, func() bool { return host.waiting.Load() > before && p.count("/output") > requests+2 }, long, time.Millisecond)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	out := <-done
	require.False(t, out.Matched)
	require.Equal(t, dropped, out.Unsearched)

	// One that matches tells where, and one that begins after all was printed has
	// missed more.
	out = output(t, c, id, procmgr.OutputRequest{Until: "^do.e$", Wait: long})
	require.Equal(t, "done", out.MatchedLine)
	require.Equal(t, out.Next-int64(len("done\n")), out.MatchedAt)
	out = output(t, c, id, procmgr.OutputRequest{Until: "never", Wait: 10 * time.Millisecond})
	require.Greater(t, out.Unsearched, dropped)
}
