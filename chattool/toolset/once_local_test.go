//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The ID of a call is no key: some providers count from 0 in each answer, and two
// calls with the same one are two calls.
func TestCallIDIsNoKey(t *testing.T) {
	t.Parallel()
	m := &fake{}
	set := newSet(toolset.Static(m), nil)
	for range 2 {
		set.Call(t.Context(), toolset.Call{ID: "call_0", Name: "execute", Arguments: []byte(`{"command":"x"}`)})
	}
	require.Len(t, m.starts, 2)
	require.NotEqual(t, m.starts[0].ID, m.starts[1].ID)
}

// The process ID is: with it a call that is made again runs nothing, and one that
// has the key of another does not run either.
func TestProcessIDIsTheKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	manager := newHost(t, &proclocal.Options{WorkDir: dir})
	m := manager.Chat("a")
	byCall := &toolset.Options{ProcessID: func(_ context.Context, c toolset.Call) string { return c.ID }}
	run := func(opts *toolset.Options, id, command string) (toolset.Result, map[string]any) {
		res := newSet(toolset.Static(m), opts).Call(t.Context(),
			toolset.Call{ID: id, Name: "execute", Arguments: []byte(arguments(t, "command", command))})
		return res, contents(t, res)
	}
	const count = "echo run >>log; grep -c run log"

	_, got := run(byCall, "m1-c0", count)
	require.Equal(t, "1\n", got["output"])
	res, got := run(byCall, "m1-c0", count)
	require.Equal(t, "1\n", got["output"], "the same call again")
	require.True(t, res.Output.Attached)
	require.Contains(t, got["note"], "nothing was run again")
	_, got = run(byCall, "m1-c1", count)
	require.Equal(t, "2\n", got["output"], "another call")

	// A provider that counts from 0 in each answer, and a host that believes it.
	res, got = run(byCall, "m1-c0", "echo another >>log")
	require.True(t, res.IsError)
	require.Contains(t, got["error"], "nothing was started by this call")

	for range 2 {
		_, got = run(nil, "m1-c0", count)
	}
	require.Equal(t, "4\n", got["output"], "without ProcessID each call runs")
}
