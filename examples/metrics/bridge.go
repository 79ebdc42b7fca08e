package main

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// newMetrics makes the instruments of a Local on an OpenTelemetry meter. If the
// provider of the meter does not collect an instrument, it costs next to
// nothing.
func newMetrics(meter metric.Meter) (*proclocal.Metrics, error) {
	var failed error
	ctx := context.Background() // no measurement belongs to a span
	count := func(name, unit, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		failed = errors.Join(failed, err)
		return c
	}
	// Seconds are the unit of OpenTelemetry for durations. The bounds reach
	// from the time of a wake-up to the time of a build.
	seconds := func(name, description string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(0.0001, 0.001, 0.01, 0.1, 1, 10, 60, 600, 3600))
		failed = errors.Join(failed, err)
		return h
	}
	starts := count("toolproc.process.starts", "{process}", "Processes that have begun")
	refusals := count("toolproc.process.refusals", "{start}", "Starts that began nothing, by reason")
	output := count("toolproc.output", "By", "Bytes that processes have printed")
	omitted := count("toolproc.output.omitted", "By", "Bytes that answers have left out")
	ran := seconds("toolproc.process.duration", "How long processes ran, by what ended them")
	waited := seconds("toolproc.wait.duration", "How long callers waited")
	running, err := meter.Int64UpDownCounter("toolproc.process.running", metric.WithUnit("{process}"),
		metric.WithDescription("Processes that have not exited"))
	if failed = errors.Join(failed, err); failed != nil {
		return nil, failed
	}
	return &proclocal.Metrics{
		Started: func() { starts.Add(ctx, 1) },
		Refused: func(err error) {
			refusals.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason(err))))
		},
		Exited: func(cause procmgr.Cause, d time.Duration) {
			ran.Record(ctx, d.Seconds(), metric.WithAttributes(attribute.String("ended_by", string(cause))))
		},
		Running: func(delta int) { running.Add(ctx, int64(delta)) },
		Output:  func(bytes int) { output.Add(ctx, int64(bytes)) },
		Omitted: func(bytes int64) { omitted.Add(ctx, bytes) },
		Waited:  func(d time.Duration) { waited.Record(ctx, d.Seconds()) },
	}, nil
}

// reason returns one of a few words for an error. An attribute must not have as
// many values as there are commands.
func reason(err error) string {
	switch {
	case errors.Is(err, procmgr.ErrLimit):
		return "limit"
	case errors.Is(err, procmgr.ErrInvalid):
		return "invalid"
	case errors.Is(err, procmgr.ErrConflict):
		return "conflict"
	case errors.Is(err, procmgr.ErrClosed):
		return "closed"
	}
	return "other"
}
