package toolset_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The whole tool call, from the arguments to the result's JSON, beside the
// plainest way to run the same command in the same shell.
func BenchmarkExecuteTrue(b *testing.B) {
	benchmarkExecuteTrue(b, newBenchLocal(b).Chat("bench"))
}

// The same over HTTP on loopback: one round trip.
func BenchmarkExecuteTrueHTTP(b *testing.B) {
	benchmarkExecuteTrue(b, remote(b, newBenchLocal(b), nil, nil))
}

// A short command while a background process runs that each result may have to report,
// compared with a Set without notices. A pause precedes each call: the manager still
// has work when a call returns, and the longer call would leave less of it to the next
// one.
func BenchmarkMeanwhile(b *testing.B) {
	chat := newBenchLocal(b).Chat("bench")
	call := toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"true"}`)}
	background := toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"exec sleep 1000","run_in_background":true}`)}
	timed := func(mode bool) func() time.Duration {
		set := newSet(toolset.Static(chat), &toolset.Options{NoticesInInbox: mode})
		require.False(b, set.Call(b.Context(), background).IsError)
		return func() time.Duration {
			time.Sleep(time.Millisecond)
			began := time.Now()
			result := set.Call(b.Context(), call)
			took := time.Since(began)
			require.False(b, result.IsError, result.Content)
			return took
		}
	}
	beside.Times(b, timed(false), timed(true))
}

func newBenchLocal(b *testing.B) *proclocal.Local {
	b.Helper()
	return newHost(b, &proclocal.Options{Shell: []string{"sh", "-c"}}) // bash would hide what a call costs
}

func benchmarkExecuteTrue(b *testing.B, m procmgr.Manager) {
	set := newSet(toolset.Static(m), nil)
	call := toolset.Call{ID: "1", Name: "execute", Arguments: json.RawMessage(`{"command":"true"}`)}
	beside.Run(b, func() {
		result := set.Call(context.Background(), call)
		require.False(b, result.IsError, result.Content)
	}, func() {
		_, err := exec.Command("sh", "-c", "true").CombinedOutput()
		require.NoError(b, err)
	})
}

// process_list over HTTP, when 2,000 commands have ended, beside a list of all
// of them.
func BenchmarkProcessList(b *testing.B) {
	local := newBenchLocal(b)
	for range 2000 {
		_, err := local.Chat("chat").Start(context.Background(), procmgr.StartRequest{Command: ":", Wait: time.Minute})
		require.NoError(b, err)
	}
	for name, m := range map[string]procmgr.Manager{"local": local.Chat("chat"), "http": remote(b, local, nil, nil)} {
		b.Run(name, func(b *testing.B) {
			set := newSet(toolset.Static(m), nil)
			call := toolset.Call{ID: "1", Name: "process_list", Arguments: json.RawMessage("{}")}
			beside.Run(b, func() {
				result := set.Call(context.Background(), call)
				require.False(b, result.IsError, result.Content)
			}, func() {
				_, err := m.List(context.Background(), procmgr.ListRequest{})
				require.NoError(b, err)
			})
		})
	}
}
