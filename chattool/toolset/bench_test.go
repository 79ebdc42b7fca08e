package toolset_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// The whole tool call, from the arguments to the result's JSON, beside the
// plainest way to run the same command in the same shell. Both are measured in one run, A B A B,
// and the ratio is that of the medians.
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
// to tell, beside the same in a Set that tells nothing. Both are measured in one
// run, A B A B, and the ratio is that of the medians. Before each call is a
// pause: the manager still has work when a call returns, and the longer call
// would leave less of it to the next one.
func BenchmarkMeanwhile(b *testing.B) {
	chat := newBenchLocal(b).Chat("bench")
	call := toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"true"}`)}
	background := toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"exec sleep 1000","run_in_background":true}`)}
	var sets [2]*toolset.Set
	for i, mode := range []toolset.NoticeMode{toolset.NoticesInResults, toolset.NoNotices} {
		sets[i] = toolset.New(toolset.Static(chat), &toolset.Options{Notices: mode})
		require.False(b, sets[i].Call(b.Context(), background).IsError)
	}
	var took [2][]time.Duration
	for b.Loop() {
		for i, set := range sets {
			time.Sleep(time.Millisecond)
			began := time.Now()
			result := set.Call(b.Context(), call)
			took[i] = append(took[i], time.Since(began))
			require.False(b, result.IsError, result.Content)
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	with, without := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(float64(with)/float64(without), "ratio")
	b.ReportMetric(float64(with.Microseconds()), "us-with")
	b.ReportMetric(float64(without.Microseconds()), "us-without")
}

func newBenchLocal(b *testing.B) *procmgr.Local {
	b.Helper()
	l, err := procmgr.NewLocal(nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, l.Close()) })
	return l
}

func benchmarkExecuteTrue(b *testing.B, host procmgr.Host) {
	shell, err := procmgr.Shell(context.Background(), host)
	require.NoError(b, err)
	set := toolset.New(toolset.Static(host.Chat("bench")), nil)
	call := toolset.Call{ID: "1", Name: "execute", Arguments: json.RawMessage(`{"command":"true"}`)}
	var ours, theirs []time.Duration
	for b.Loop() {
		began := time.Now()
		result := set.Call(context.Background(), call)
		middle := time.Now()
		_, err := exec.Command(shell, "-c", "true").CombinedOutput()
		ended := time.Now()
		require.False(b, result.IsError, result.Content)
		require.NoError(b, err)
		ours, theirs = append(ours, middle.Sub(began)), append(theirs, ended.Sub(middle))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	a, c := ours[len(ours)/2], theirs[len(theirs)/2]
	b.ReportMetric(float64(a)/float64(c), "ratio")
	b.ReportMetric(float64(a.Microseconds()), "us-ours")
	b.ReportMetric(float64(c.Microseconds()), "us-theirs")
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
			var tool, all []time.Duration
			for b.Loop() {
				began := time.Now()
				result := set.Call(context.Background(), call)
				middle := time.Now()
				_, err := host.Chat("bench").List(context.Background())
				tool, all = append(tool, middle.Sub(began)), append(all, time.Since(middle))
				require.False(b, result.IsError, result.Content)
				require.NoError(b, err)
			}
			slices.Sort(tool)
			slices.Sort(all)
			b.ReportMetric(float64(tool[len(tool)/2])/float64(all[len(all)/2]), "ratio")
			b.ReportMetric(float64(tool[len(tool)/2].Microseconds()), "us-tool")
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), "us-list")
			b.ReportMetric(0, "ns/op")
		})
	}
}
