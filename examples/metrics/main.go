// Command metrics runs a few commands for a model's tool, and prints what OpenTelemetry
// gets to know of them by package procotel: the spans, and the measurements.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procotel"
)

func main() {
	// By default these signals end a program without Close, and leave its
	// commands running.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	text, err := run(ctx)
	fmt.Print(text)
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (string, error) {
	// In your program, these have the exporters of your collector instead.
	reader := metric.NewManualReader()
	spans := tracetest.NewInMemoryExporter()
	telemetry, err := procotel.New(&procotel.Options{
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(reader)),
		TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans)),
	})
	if err != nil {
		return "", err
	}
	manager, err := proclocal.New(&proclocal.Options{MaxRunning: 2, Metrics: telemetry.LocalMetrics()})
	if err != nil {
		return "", err
	}
	chat := telemetry.Host(manager).Chat("demo")
	set := toolset.New(toolset.Static(chat), &toolset.Options{Intercept: telemetry.Call})
	for i, command := range []string{"echo hello", "exit 3", "seq 100000", "sleep 1000 &", "sleep 1000 &", "echo one too many"} {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			return "", err
		}
		set.Call(ctx, toolset.Call{ID: fmt.Sprint("call_", i+1), Name: "execute", Arguments: args})
	}
	living, err := measured(ctx, reader)
	if err != nil {
		return "", err
	}
	if err := manager.Close(); err != nil {
		return "", err
	}
	telemetry.Close() // after the manager, which has ended every process
	after, err := measured(ctx, reader)
	text := told(spans.GetSpans()) + "\nwhile two processes run:\n" + living + "\nat the end:\n" + after
	return text, err
}

// told returns a line for each span.
func told(spans tracetest.SpanStubs) string {
	var text strings.Builder
	for _, s := range spans {
		var facts []string
		for _, a := range s.Attributes {
			switch a.Key {
			case "gen_ai.tool.call.id", "process.exit.code", "toolproc.process.ended_by", "toolproc.output.bytes", "error.type":
				facts = append(facts, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
			}
		}
		fmt.Fprintf(&text, "%s %-20s %s\n", s.SpanContext.TraceID().String()[:6], s.Name, strings.Join(facts, " "))
	}
	return text.String()
}

// measured returns a line for each point of each instrument, of a histogram the
// count.
func measured(ctx context.Context, reader metric.Reader) (string, error) {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		return "", err
	}
	var lines []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(set attribute.Set, value string) {
				lines = append(lines, fmt.Sprintf("%-30s %-18s %s", m.Name, set.Encoded(attribute.DefaultEncoder()), value))
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, fmt.Sprint(p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, fmt.Sprint(p.Count, " times"))
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n", nil
}
