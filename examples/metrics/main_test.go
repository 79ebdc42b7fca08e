package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Every instrument gets the measurements of a Local.
func TestBridge(t *testing.T) {
	reader := sdk.NewManualReader()
	metrics, err := newMetrics(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"))
	require.NoError(t, err)
	manager, err := proclocal.New(&proclocal.Options{MaxRunning: 1, Metrics: metrics})
	require.NoError(t, err)
	defer func() { require.NoError(t, manager.Close()) }()

	out, err := manager.Start(t.Context(), procmgr.StartRequest{Command: "sleep 0.1; seq 20000", Wait: time.Minute})
	require.NoError(t, err)
	_, err = manager.Start(t.Context(), procmgr.StartRequest{Command: "exec sleep 1000"})
	require.NoError(t, err)
	_, err = manager.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	_, err = manager.Start(t.Context(), procmgr.StartRequest{})
	require.ErrorIs(t, err, procmgr.ErrInvalid)

	want := []string{
		"toolproc.output 108894",
		fmt.Sprint("toolproc.output.omitted ", out.Truncated.OmittedBytes),
		"toolproc.process.duration ended_by=exit 1 times",
		"toolproc.process.refusals reason=invalid 1",
		"toolproc.process.refusals reason=limit 1",
		"toolproc.process.running 1",
		"toolproc.process.starts 2",
		"toolproc.wait.duration 1 times",
	}
	// A caller may see an exit a moment before the metrics do.
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		got, err := collect(context.Background(), reader)
		require.NoError(t, err)
		var lines []string
		for line := range strings.Lines(got) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		require.Equal(t, want, lines)
	}, 30*time.Second, time.Millisecond)
}

func TestRun(t *testing.T) { require.NoError(t, run(t.Context())) }
