package procotel_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procotel"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// collect returns a line for each point of each instrument, of a histogram the count.
func collect(t require.TestingT, reader sdk.Reader) (lines []string) {
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(set attribute.Set, value any) {
				lines = append(lines, strings.Join(strings.Fields(fmt.Sprint(m.Name, " ", set.Encoded(attribute.DefaultEncoder()), " ", value)), " "))
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, fmt.Sprint(p.Count, " times"))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// stubborn is a host whose kills leave something alive.
type stubborn struct{ procmgr.Host }

func (stubborn) Signal(context.Context, string, procmgr.Signal) error {
	return xerrors.New("p1 is still alive: pid 7 in a state that no signal reaches")
}

// Every instrument gets its measurements, also for a Host that has no metrics of its own,
// such as a client, and if no span is recorded.
func TestMetrics(t *testing.T) {
	t.Parallel()
	reader := sdk.NewManualReader()
	telemetry, err := procotel.New(&procotel.Options{MeterProvider: sdk.NewMeterProvider(sdk.WithReader(reader)), TracerProvider: noop.NewTracerProvider()})
	require.NoError(t, err)
	local, err := proclocal.New(&proclocal.Options{MaxRunning: 2, Metrics: telemetry.LocalMetrics()})
	require.NoError(t, err)
	defer func() { _ = local.Close() }()
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := prochttp.NewClient(server.URL, nil)
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	defer telemetry.Close()
	host := telemetry.Host(client)

	out, err := host.Start(t.Context(), procmgr.StartRequest{Command: "sleep 0.1; seq 20000", Wait: time.Minute})
	require.NoError(t, err)
	for range 2 { // the second one attaches
		_, err = host.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "exec sleep 1000"})
		require.NoError(t, err)
	}
	_, err = host.Start(t.Context(), procmgr.StartRequest{Command: "sleep 1000 & exit", Wait: time.Minute})
	require.NoError(t, err)
	_, err = host.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	_, err = host.Start(t.Context(), procmgr.StartRequest{})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.Error(t, telemetry.Host(stubborn{client}).Signal(t.Context(), "p1", procmgr.Kill))
	require.ErrorIs(t, host.Signal(t.Context(), "p1", procmgr.Kill), procmgr.ErrNotFound)
	set, err := toolset.New(toolset.Static(host), &toolset.Options{Intercept: telemetry.Call})
	require.NoError(t, err)
	for _, name := range []string{"process_list", "made_up", "also_made_up"} {
		set.Call(t.Context(), toolset.Call{Name: name, Arguments: []byte("{}")})
	}

	want := []string{
		"gen_ai.execute_tool.duration error.type=tool_error,gen_ai.operation.name=execute_tool,gen_ai.tool.name=_OTHER 2 times",
		"gen_ai.execute_tool.duration gen_ai.operation.name=execute_tool,gen_ai.tool.name=process_list 1 times",
		"toolproc.kill.survived 1",
		"toolproc.output 108894",
		fmt.Sprint("toolproc.output.omitted ", out.Truncated.OmittedBytes),
		"toolproc.process.duration ended_by=exit 1 times",
		"toolproc.process.living state=detached 2", // two hosts have asked the same Local
		"toolproc.process.living state=running 2",
		"toolproc.process.refusals reason=invalid 1",
		"toolproc.process.refusals reason=limit 1",
		"toolproc.process.starts 3",
		"toolproc.wait.duration 2 times",
	}
	// A caller may see an exit a moment before the metrics do.
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.Equal(t, want, collect(t, reader))
	}, 30*time.Second, time.Millisecond)
}
