package toolset_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The whole tool call, from the arguments to the result's JSON, beside the
// plainest way to run the same command in the same shell.
func BenchmarkExecuteTrue(b *testing.B) {
	benchmarkExecuteTrue(b, newBenchLocal(b))
}

// The same over HTTP on loopback: one round trip.
func BenchmarkExecuteTrueHTTP(b *testing.B) {
	handler, err := prochttp.NewHandler(newBenchLocal(b), &prochttp.HandlerOptions{Token: "bench"})
	require.NoError(b, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := prochttp.NewClient(server.URL, &prochttp.ClientOptions{Token: "bench"})
	require.NoError(b, err)
	defer func() { require.NoError(b, client.Close()) }()
	benchmarkExecuteTrue(b, client)
}

// A short command while a background process runs, of which each result may have
// to tell, beside the same in a Set that tells nothing. Before each call is a
// pause: the manager still has work when a call returns, and the longer call
// would leave less of it to the next one.
func BenchmarkMeanwhile(b *testing.B) {
	chat := newBenchLocal(b).Chat("bench")
	call := toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"true"}`)}
	background := toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"exec sleep 1000","run_in_background":true}`)}
	timed := func(mode toolset.NoticeMode) func() time.Duration {
		set := toolset.New(toolset.Static(chat), &toolset.Options{Notices: mode})
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
	beside.Times(b, timed(toolset.NoticesInResults), timed(toolset.NoNotices))
}

func newBenchLocal(b *testing.B) *proclocal.Local {
	b.Helper()
	l, err := proclocal.New(&proclocal.Options{Shell: []string{"sh", "-c"}}) // bash would hide what a call costs
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, l.Close()) })
	return l
}

func benchmarkExecuteTrue(b *testing.B, host procmgr.Host) {
	set := toolset.New(toolset.Static(host.Chat("bench")), nil)
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
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Token: "bench"})
	require.NoError(b, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := prochttp.NewClient(server.URL, &prochttp.ClientOptions{Token: "bench"})
	require.NoError(b, err)
	defer func() { require.NoError(b, client.Close()) }()
	for range 2000 {
		_, err := local.Chat("bench").Start(context.Background(), procmgr.StartRequest{Command: ":", Wait: time.Minute})
		require.NoError(b, err)
	}
	for name, host := range map[string]procmgr.Host{"local": local, "http": client} {
		b.Run(name, func(b *testing.B) {
			set := toolset.New(toolset.Static(host.Chat("bench")), nil)
			call := toolset.Call{ID: "1", Name: "process_list", Arguments: json.RawMessage("{}")}
			beside.Run(b, func() {
				result := set.Call(context.Background(), call)
				require.False(b, result.IsError, result.Content)
			}, func() {
				_, err := host.Chat("bench").List(context.Background(), procmgr.ListRequest{})
				require.NoError(b, err)
			})
		})
	}
}
