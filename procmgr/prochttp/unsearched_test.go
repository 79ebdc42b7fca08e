package prochttp_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// What a wait has not searched is told at its end, whatever number of requests
// it takes, and what was dropped while it went on has been searched.
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
