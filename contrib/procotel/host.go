package procotel

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolproc/toolproc/procmgr"
)

// Host returns a Host that does the same as h, makes a span for each process that is
// started through it, and measures it. h may be of any kind, such as a keeper or a client
// of another machine. A collection of the metrics asks h for the number of its processes.
func (t *Telemetry) Host(h procmgr.Host) procmgr.Host {
	t.mu.Lock()
	t.hosts = append(t.hosts, h)
	t.mu.Unlock()
	return procmgr.WrapHost(h, func(_ string, m procmgr.Manager) procmgr.Manager { return &manager{Manager: m, t: t} })
}

// A manager makes the spans of what is started through it.
type manager struct {
	procmgr.Manager

	t     *Telemetry
	shell atomic.Value // the name of the program that runs commands, once it is known; chats may differ in it
}

// name names a span after the program that runs commands.
func (m *manager) name(ctx context.Context, span trace.Span) {
	name, ok := m.shell.Load().(string)
	if !ok {
		d, err := m.Manager.Describe(ctx)
		name = cmp.Or(d.Shell, "shell")
		if err == nil {
			m.shell.Store(name)
		}
	}
	span.SetName(name)
	span.SetAttributes(attribute.String("process.executable.name", name))
}

// Start starts a command in a span of its own.
func (m *manager) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	ctx, span := m.t.tracer.Start(ctx, "shell", trace.WithSpanKind(trace.SpanKindClient))
	if m.t.opts.Commands {
		span.SetAttributes(attribute.String("process.command_line", clip(req.Command, maxCommand)))
	}
	// The command's trace context.
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)
	if len(carrier) > 0 {
		req.Env = maps.Clone(req.Env)
		if req.Env == nil {
			req.Env = make(map[string]string, len(carrier))
		}
		for name, value := range carrier {
			req.Env[strings.ToUpper(name)] = value
		}
	}
	if req.ID == "" {
		req.ID = procmgr.NewID()
	}
	began := time.Now()
	out, err := m.Manager.Start(ctx, req)
	m.told(ctx, began, req.Wait, &out)
	if !out.Attached {
		m.name(ctx, span) // not before: it may take a while, and would hold the start
	}
	switch {
	case out.Attached:
		// The process has the span of the Start that began it. This one is never ended,
		// and so it is never told.
	case err != nil && out.Process.ID == "" && !errors.Is(err, procmgr.ErrUnknown):
		m.t.instruments.refusals.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason(err))))
		span.SetAttributes(attribute.String("toolproc.process.id", req.ID))
		fail(span, err)
		span.End()
	default:
		w := &watcher{t: m.t, m: m.Manager, span: span, id: req.ID}
		if err == nil {
			w.begun()
		}
		if !m.t.watch(w.run) {
			w.finish(&out, "closed")
		}
	}
	return out, err
}

// maxCommand is the limit of the command in a span, in bytes.
const maxCommand = 4 << 10

// Output forwards a read.
func (m *manager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	began := time.Now()
	out, err := m.Manager.Output(ctx, id, req)
	m.told(ctx, began, req.Wait, &out)
	return out, err
}

// told measures an answer: for how long its caller has waited, and what it leaves out.
func (m *manager) told(ctx context.Context, began time.Time, wait time.Duration, out *procmgr.Output) {
	if wait > 0 {
		m.t.instruments.waited.Record(ctx, time.Since(began).Seconds())
	}
	if out.Truncated != nil {
		m.t.instruments.omitted.Add(ctx, out.Truncated.OmittedBytes)
	}
}

// Signal forwards a signal, and counts the kills that leave something alive.
func (m *manager) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	err := m.Manager.Signal(ctx, id, sig)
	if sig == procmgr.Kill && err != nil && reason(err) == other && ctx.Err() == nil {
		m.t.instruments.survived.Add(ctx, 1)
	}
	return err
}

// Input forwards a write.
func (m *manager) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	began := time.Now()
	out, err := m.Manager.Input(ctx, id, req)
	m.told(ctx, began, req.Wait, &out.Output)
	return out, err
}

// A watcher follows one process to its end, for its span.
type watcher struct {
	t    *Telemetry
	m    procmgr.Manager
	span trace.Span
	id   string

	counted bool // as a start
}

// begun counts the start, once it is known that the process has begun.
func (w *watcher) begun() {
	if !w.counted {
		w.counted = true
		w.t.instruments.starts.Add(context.Background(), 1)
	}
}

// again is how long a watcher waits before it asks again after a wait without a change.
const again = 50 * time.Millisecond

// run waits for each change of the state of the process, and ends the span with it.
func (w *watcher) run() {
	known := procmgr.Running
	for {
		out, err := w.m.Output(w.t.ctx, w.id, procmgr.OutputRequest{From: math.MaxInt64, Wait: time.Hour, State: known})
		switch {
		case err != nil && w.t.ctx.Err() != nil:
			now, _ := w.m.Output(context.WithoutCancel(w.t.ctx), w.id, procmgr.OutputRequest{From: math.MaxInt64})
			w.finish(&now, "closed")
			return
		case err != nil:
			// It may have begun, and the manager does not know it any more.
			fail(w.span, err)
			w.span.End()
			return
		case out.Process.State == procmgr.Exited:
			w.begun()
			w.t.instruments.ran.Record(context.Background(), out.Process.Elapsed.Seconds(),
				metric.WithAttributes(attribute.String("ended_by", string(out.Process.EndedBy))))
			w.finish(&out, "")
			return
		case out.Process.State != known:
			known = out.Process.State
			w.begun()
			w.span.AddEvent(string(known))
		default: // a server that is about to end cuts its waits short
			w.begun()
			select {
			case <-w.t.ctx.Done():
			case <-time.After(again):
			}
		}
	}
}

// finish ends the span with the facts of the process. unfinished says why it has not
// ended, "" if it has.
func (w *watcher) finish(out *procmgr.Output, unfinished string) {
	if !w.span.IsRecording() {
		return
	}
	p := &out.Process
	w.span.SetAttributes(about(p)...)
	w.span.SetAttributes(attribute.Int64("toolproc.output.bytes", out.Next))
	if unfinished != "" {
		w.span.SetAttributes(attribute.String("toolproc.unfinished", unfinished))
		w.span.End()
		return
	}
	if kind := failure(p); kind != "" {
		w.span.SetAttributes(attribute.String("error.type", kind))
		if p.EndedBy != procmgr.CauseRequest && p.EndedBy != procmgr.CauseShutdown {
			w.span.SetStatus(codes.Error, kind)
		}
	}
	if p.ExitedAt.IsZero() {
		w.span.End()
	} else {
		w.span.End(trace.WithTimestamp(p.ExitedAt))
	}
}

// failure returns the error.type of a process: "oom" for the kernel's out-of-memory
// killer, "lost" if it has no exit code, the signal that ended it, or its exit code. It
// returns "" if that is 0.
func failure(p *procmgr.Process) string {
	switch {
	case p.OOM:
		return "oom"
	case p.Signal != "":
		return p.Signal
	case p.ExitCode == nil:
		return string(procmgr.CauseLost)
	case *p.ExitCode != 0:
		return strconv.Itoa(*p.ExitCode)
	}
	return ""
}

// about returns the attributes of a process that tell nothing of what it runs.
func about(p *procmgr.Process) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("toolproc.process.id", p.ID), attribute.String("toolproc.process.state", string(p.State))}
	if p.ChatID != "" {
		all = append(all, attribute.String("gen_ai.conversation.id", toValid(p.ChatID)))
	}
	if p.PID != 0 {
		all = append(all, attribute.Int("process.pid", p.PID))
	}
	if p.ExitCode != nil {
		all = append(all, attribute.Int("process.exit.code", *p.ExitCode))
	}
	if p.Signal != "" {
		all = append(all, attribute.String("toolproc.process.signal", p.Signal))
	}
	if p.EndedBy != "" {
		all = append(all, attribute.String("toolproc.process.ended_by", string(p.EndedBy)))
	}
	if p.OOM {
		all = append(all, attribute.Bool("toolproc.process.oom", true))
	}
	if p.Background {
		all = append(all, attribute.Bool("toolproc.process.background", true))
	}
	return all
}

// fail marks a span with the kind of an error. Its text may quote a command.
func fail(span trace.Span, err error) {
	kind := reason(err)
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, kind)
}

// toValid returns s as valid UTF-8.
func toValid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
