package procotel

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// scope is the name of the instrumentation.
const scope = "github.com/toolproc/toolproc/contrib/procotel"

// Options configures New. The zero value of every field is its default.
type Options struct {
	// TracerProvider makes the spans: the global one by default.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the instruments: the global one by default.
	MeterProvider metric.MeterProvider
	// Commands adds the command to the span of each process, as the attribute
	// process.command_line, at most 4 KiB of it. A command may have a secret in it.
	Commands bool
	// Content adds the arguments and the result of a call to its span, as
	// gen_ai.tool.call.arguments and gen_ai.tool.call.result, at most 64 KiB of each.
	// Values of this program's variables that look like secrets are masked, in addition
	// to what the manager masks in output.
	Content bool
}

// A Telemetry makes spans and measurements. It is safe for concurrent use.
type Telemetry struct {
	opts        Options
	tracer      trace.Tracer
	instruments instruments
	masks       *strings.Replacer // for Options.Content

	ctx   context.Context // ends with Close
	end   context.CancelFunc
	mu    sync.Mutex
	done  bool // Close was called
	hosts []procmgr.Host
	tools map[string]string // the descriptions of the tools that are known
	busy  sync.WaitGroup    // the spans of processes that live

	counting metric.Registration // that asks the hosts
}

// New makes a Telemetry. opts may be nil. It fails if a provider cannot make an
// instrument.
func New(opts *Options) (*Telemetry, error) {
	t := &Telemetry{tools: make(map[string]string)}
	for _, name := range usualTools {
		t.tools[name] = ""
	}
	if opts != nil {
		t.opts = *opts
	}
	if t.opts.TracerProvider == nil {
		t.opts.TracerProvider = otel.GetTracerProvider()
	}
	if t.opts.MeterProvider == nil {
		t.opts.MeterProvider = otel.GetMeterProvider()
	}
	t.tracer = t.opts.TracerProvider.Tracer(scope)
	meter := t.opts.MeterProvider.Meter(scope)
	var err error
	if t.instruments, err = newInstruments(meter); err != nil {
		return nil, xerrors.Errorf("procotel: new: %w", err)
	}
	if t.counting, err = meter.RegisterCallback(t.count, t.instruments.living); err != nil {
		return nil, xerrors.Errorf("procotel: new: %w", err)
	}
	t.masks = masks(os.Environ())
	t.ctx, t.end = context.WithCancel(context.Background())
	return t, nil
}

// Close ends the spans of the processes that still live, as they are now: such a
// span has no exit code. Call it after the Close of the managers, and before the
// Shutdown of the providers. The span of a process that is started
// later ends with its Start.
func (t *Telemetry) Close() {
	t.mu.Lock()
	t.done = true
	t.mu.Unlock()
	_ = t.counting.Unregister() // it fails if it was done before
	t.end()
	t.busy.Wait()
}

// watch runs f beside the callers, and tells whether it does: after Close it does not.
func (t *Telemetry) watch(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return false
	}
	t.busy.Go(f)
	return true
}

// traceContext writes and reads the trace context between programs.
var traceContext propagation.TraceContext

// Inject adds the trace context of ctx to a header. It is for the field Inject of
// prochttp.ClientOptions.
func Inject(ctx context.Context, header http.Header) {
	traceContext.Inject(ctx, propagation.HeaderCarrier(header))
}

// Handler returns a handler that calls h with the trace context of the request's header
// in the context of the request. It believes what the header says: a caller who may not run
// commands can name a trace, and nothing is recorded for the request.
func Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := traceContext.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}
