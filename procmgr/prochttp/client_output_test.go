package prochttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	out, err := c.Chat("a").Start(t.Context(), procmgr.StartRequest{Command: "exec sleep 1000", Wait: 300 * time.Millisecond})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	require.NoError(t, c.Signal(t.Context(), out.Process.ID, procmgr.Kill))
}

// A wait in slices is one wait. Each of many lines is pushed out of the window at
// once, and the wait misses none, whichever request is on its way at that time.
func TestMatchesInSlices(t *testing.T) {
	host := &countingHost{Local: newLocal(t, &proclocal.Options{Head: 100, Tail: 100})}
	c, p := sliced(t, host)
	prochttp.SetSlice(c, 100*time.Millisecond) // a machine that is busy with requests loses a wait between two of them
	const needles = 20
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "go"))
	id := begin(t, c, `echo ready; while [ ! -e `+file+` ]; do sleep 0.01; done
		i=0; while [ $i -lt 20 ]; do seq 200; echo NEEDLE $i; seq 200; sleep 0.03; i=$((i+1)); done; exec sleep 1000`).Process.ID
	var wg sync.WaitGroup
	for i := range needles {
		wg.Go(func() {
			out, err := c.Output(t.Context(), id, procmgr.OutputRequest{From: 6, Until: fmt.Sprintf("^NEEDLE %d$", i), Wait: long})
			if err != nil || !out.Matched {
				t.Errorf("NEEDLE %d: %v, %+v", i, err, out)
			}
		})
	}
	require.Eventually(t, func() bool { return host.waiting.Load() >= needles }, long, time.Millisecond)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	wg.Wait()
	require.Greater(t, p.count("/output"), needles)
	require.NoError(t, c.Signal(t.Context(), id, procmgr.Kill))
}

// A wait from beyond the end gets the output that is printed after it began,
// however many requests it takes.
func TestBeyondTheEndInSlices(t *testing.T) {
	t.Parallel()
	local := newLocal(t, nil)
	c, p := sliced(t, local)
	id := begin(t, local, "echo ready; while sleep 0.02; do echo tick; done").Process.ID
	for _, req := range []procmgr.OutputRequest{
		{From: 1 << 40, Wait: time.Second},
		{From: 1 << 40, Wait: time.Second, Until: "never"},
	} {
		out, err := c.Output(t.Context(), id, req)
		require.NoError(t, err)
		require.Contains(t, out.Text, "tick\ntick\n")
	}
	require.Greater(t, p.count("/output"), 4)
	require.NoError(t, local.Signal(t.Context(), id, procmgr.Kill))
}

// If a slice is lost when the time is nearly up, the client asks again. The
// answer has the output that was printed after the wait began.
func TestLastSliceIsLost(t *testing.T) {
	local := newLocal(t, nil)
	lost := &lostSlice{}
	defer lost.CloseIdleConnections()
	c := newClient(t, serve(t, newHandler(t, local, nil)), &prochttp.ClientOptions{Token: token, Transport: lost})
	prochttp.SetSlice(c, 20*time.Millisecond)
	// On a busy machine, the first slice may take all of a wait, and the line may
	// come after it.
	inTime := false
	for wait := 300 * time.Millisecond; !inTime; wait *= 2 {
		file := filepath.ToSlash(filepath.Join(t.TempDir(), "go"))
		id := begin(t, local, `echo ready; while [ ! -e `+file+` ]; do sleep 0.01; done; echo tick; exec sleep 1000`).Process.ID
		began := time.Now()
		lost.outputs = 0
		lost.before = func() {
			over := time.NewTimer(wait)
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			out, err := local.Output(t.Context(), id, procmgr.OutputRequest{Until: "^tick$", Wait: long})
			require.NoError(t, err)
			require.True(t, out.Matched)
			inTime = time.Since(began) < wait
			<-over.C
		}
		out, err := c.Output(t.Context(), id, procmgr.OutputRequest{From: 1 << 40, Wait: wait})
		require.NoError(t, err)
		if inTime {
			require.Equal(t, "tick\n", out.Text)
		}
		require.NoError(t, local.Signal(t.Context(), id, procmgr.Kill))
	}
}

// A lostSlice loses the second request for an output.
type lostSlice struct {
	http.Transport
	outputs int
	before  func()
}

func (l *lostSlice) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/output") {
		if l.outputs++; l.outputs == 2 {
			l.before()
			return nil, errors.New("lost")
		}
	}
	return l.Transport.RoundTrip(r)
}
