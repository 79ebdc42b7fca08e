// Command metrics runs a few commands and prints the measurements of
// OpenTelemetry for them.
//
// The bridge is newMetrics: give it a meter of your own provider, and put its
// result into proclocal.Options.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func main() {
	// By default these signals end a program without Close, and leave its
	// commands running.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	// In your program, the provider has an exporter instead.
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	metrics, err := newMetrics(provider.Meter("github.com/toolproc/toolproc"))
	if err != nil {
		return err
	}
	manager, err := proclocal.New(&proclocal.Options{MaxRunning: 2, Metrics: metrics})
	if err != nil {
		return err
	}
	chat := manager.Chat("demo")
	for _, command := range []string{"echo hello", "exit 3", "seq 100000", "sleep 1000", "sleep 1000", "echo one too many"} {
		req := procmgr.StartRequest{Command: command, Wait: time.Minute}
		if strings.HasPrefix(command, "sleep") {
			req.Wait = 0
		}
		if _, err := chat.Start(ctx, req); err != nil {
			fmt.Println(err)
		}
	}
	if err := manager.Close(); err != nil {
		return err
	}
	text, err := collect(ctx, reader)
	fmt.Print(text)
	return err
}

// collect prints each point of each instrument. Of a histogram it prints the
// count.
func collect(ctx context.Context, reader sdk.Reader) (string, error) {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		return "", err
	}
	var lines []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%-30s %-18s %d", m.Name, p.Attributes.Encoded(attribute.DefaultEncoder()), p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%-30s %-18s %d times", m.Name, p.Attributes.Encoded(attribute.DefaultEncoder()), p.Count))
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n", nil
}
