package procotel_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procotel"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func ExampleNew() {
	// By default Ctrl-C ends a program without Close, and leaves its commands running.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	spans := tracetest.NewInMemoryExporter() // in a program, the exporter of a collector
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))

	telemetry, err := procotel.New(&procotel.Options{TracerProvider: provider})
	if err != nil {
		log.Fatal(err)
	}
	manager, err := proclocal.New(&proclocal.Options{Metrics: telemetry.LocalMetrics()})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // also if something fails before the Close below
	host := telemetry.Host(manager)
	set, err := toolset.New(toolset.Static(host.Chat("chat-1")), &toolset.Options{Intercept: telemetry.Call})
	if err != nil {
		log.Print(err)
		return
	}

	set.Call(ctx, toolset.Call{Name: "execute", Arguments: []byte(`{"command":"exit 3"}`)})

	if err := manager.Close(); err != nil {
		log.Print(err)
	}
	telemetry.Close()
	var tool, process tracetest.SpanStub
	for _, s := range spans.GetSpans() {
		if s.Name == "execute_tool execute" {
			tool = s
		} else {
			process = s // it is named after the shell
		}
	}
	fmt.Println(process.Parent.SpanID() == tool.SpanContext.SpanID())
	for _, a := range process.Attributes {
		if a.Key == "process.exit.code" {
			fmt.Println(a.Key, a.Value.String())
		}
	}
	// Output:
	// true
	// process.exit.code 3
}
