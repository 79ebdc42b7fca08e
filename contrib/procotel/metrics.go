package procotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The instruments. One that the provider does not collect costs next to nothing.
type instruments struct {
	starts, refusals, output, omitted, survived metric.Int64Counter
	ran, waited, called                         metric.Float64Histogram
	living                                      metric.Int64ObservableUpDownCounter
}

func newInstruments(meter metric.Meter) (instruments, error) {
	var failed error
	count := func(name, unit, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		failed = errors.Join(failed, err)
		return c
	}
	// Seconds are the unit of OpenTelemetry for durations. The bounds reach from the
	// time of a wake-up to the time of a build.
	seconds := func(name, description string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(0.0001, 0.001, 0.01, 0.1, 1, 10, 60, 600, 3600))
		failed = errors.Join(failed, err)
		return h
	}
	living, err := meter.Int64ObservableUpDownCounter("toolproc.process.living", metric.WithUnit("{process}"),
		metric.WithDescription("Processes that have not exited, by state"))
	all := instruments{
		starts:   count("toolproc.process.starts", "{process}", "Processes that have begun"),
		refusals: count("toolproc.process.refusals", "{start}", "Starts that began nothing, by reason"),
		output:   count("toolproc.output", "By", "Bytes that processes have printed"),
		omitted:  count("toolproc.output.omitted", "By", "Bytes that answers have left out"),
		survived: count("toolproc.kill.survived", "{kill}", "Kills after which something was still alive"),
		ran:      seconds("toolproc.process.duration", "How long processes ran, by what ended them"),
		waited:   seconds("toolproc.wait.duration", "How long callers waited"),
		called:   seconds("gen_ai.execute_tool.duration", "How long calls of tools took"),
		living:   living,
	}
	return all, errors.Join(failed, err)
}

// LocalMetrics returns a function for the field Metrics of proclocal.Options, which counts
// output as it is printed. Host measures everything else, also with a Host of another
// kind.
func (t *Telemetry) LocalMetrics() *proclocal.Metrics {
	return &proclocal.Metrics{
		Output: func(bytes int) { t.instruments.output.Add(context.Background(), int64(bytes)) }, // it belongs to no span
	}
}

// count asks the hosts for the number of their processes that live.
func (t *Telemetry) count(ctx context.Context, o metric.Observer) error {
	t.mu.Lock()
	hosts := t.hosts
	t.mu.Unlock()
	for _, state := range []procmgr.State{procmgr.Running, procmgr.Detached} {
		living := 0
		for _, h := range hosts {
			page, _ := h.List(ctx, procmgr.ListRequest{State: state, Limit: 1}) // of a host that does not answer there are none
			living += page.Total
		}
		o.ObserveInt64(t.instruments.living, int64(living), metric.WithAttributes(attribute.String("state", string(state))))
	}
	return nil
}

const other = "other"

// reason returns one of a few words for an error. An attribute must not have as many
// values as there are commands, and no error's text.
func reason(err error) string {
	for _, known := range []struct {
		sentinel error
		word     string
	}{
		{procmgr.ErrUnknown, "unknown"}, // before the others: they may come with it
		{procmgr.ErrLimit, "limit"},
		{procmgr.ErrInvalid, "invalid"},
		{procmgr.ErrConflict, "conflict"},
		{procmgr.ErrClosed, "closed"},
		{procmgr.ErrRefused, "refused"},
		{procmgr.ErrNotReady, "not_ready"},
		{procmgr.ErrNotFound, "not_found"},
		{procmgr.ErrNotRunning, "not_running"},
		{errors.ErrUnsupported, "unsupported"},
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "timeout"},
	} {
		if errors.Is(err, known.sentinel) {
			return known.word
		}
	}
	return other
}
