package prockeep_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// A wait takes its whole time, and no longer, across many upgrades: a long one
// across all of them, and a short one across each.
func TestHeldWaitsAcrossUpgrades(t *testing.T) {
	testenv.Held(t)
	const upgrades, short = 20, 500 * time.Millisecond
	dir := newDir(t)
	k, other := open(t, dir, nil), open(t, dir, nil)
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "go")
	m := k.Chat("a")
	begin(t, m, "x", "echo ready; exec sleep 1000")

	type result struct {
		out  procmgr.Output
		err  error
		took time.Duration
	}
	wait := func(call func() (procmgr.Output, error)) chan result {
		results := make(chan result, 1)
		go func() { // each result is received below
			began := time.Now()
			out, err := call()
			results <- result{out, err, time.Since(began)}
		}()
		return results
	}
	output := func(req procmgr.OutputRequest) chan result {
		return wait(func() (procmgr.Output, error) { return m.Output(ctx, "x", req) })
	}
	waits := map[string]chan result{
		"output":    output(procmgr.OutputRequest{Wait: long}),
		"a pattern": output(procmgr.OutputRequest{Wait: long, Until: "^never$"}),
	}
	start := wait(func() (procmgr.Output, error) {
		return m.Start(ctx, procmgr.StartRequest{
			ID: "y", Command: "while [ ! -e " + file + " ]; do sleep 0.01; done; echo done; exit 3", Wait: 10 * long,
		})
	})
	require.Eventually(t, func() bool { _, err := other.Output(ctx, "y", procmgr.OutputRequest{}); return err == nil }, long, time.Millisecond)

	for range upgrades {
		waited := output(procmgr.OutputRequest{Wait: short})
		time.Sleep(rand.N(short))
		require.NoError(t, other.Upgrade(ctx))
		r := <-waited
		require.NoError(t, r.err)
		require.Equal(t, procmgr.Running, r.out.Process.State)
		require.GreaterOrEqual(t, r.took, short)
		require.Less(t, r.took, long)
		time.Sleep(rand.N(short))
	}
	for name, waited := range waits {
		r := <-waited
		require.NoError(t, r.err, name)
		require.Equal(t, procmgr.Running, r.out.Process.State, name)
		require.Equal(t, "ready\n", r.out.Text, name)
		require.GreaterOrEqual(t, r.took, long, name)
		require.Less(t, r.took, 2*long, name)
	}
	require.Empty(t, start)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	r := <-start
	require.NoError(t, r.err)
	require.Equal(t, "done\n", r.out.Text)
	require.Equal(t, 3, *r.out.Process.ExitCode)
}
