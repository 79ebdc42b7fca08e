package prockeep

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// hooks tell an opener's functions of the events of all keepers.
type hooks struct {
	local  proclocal.Options
	cancel context.CancelFunc
	worker sync.WaitGroup
}

// start begins at the events from now on. stop waits for its goroutine.
func (k *hooks) start(ctx context.Context, h *Host, o *proclocal.Options) error {
	k.local = *o
	if o.OnStart == nil && o.OnExit == nil && o.Metrics == nil && o.Logger == nil {
		return nil
	}
	if o.Metrics == nil {
		k.local.Metrics = new(proclocal.Metrics)
	}
	page, err := h.Events(ctx, procmgr.EventsRequest{Limit: -1})
	if err != nil {
		return err
	}
	var own context.Context
	own, k.cancel = context.WithCancel(context.Background())
	k.worker.Go(func() { k.follow(own, h, page.Next) })
	return nil
}

func (k *hooks) stop() {
	if k.cancel != nil {
		k.cancel()
		k.worker.Wait()
	}
}

// eventsWait is how long a request for events waits.
const eventsWait = time.Minute

func (k *hooks) follow(ctx context.Context, h *Host, after string) {
	for ctx.Err() == nil {
		page, err := h.Events(ctx, procmgr.EventsRequest{After: after, Wait: eventsWait, Limit: -1})
		for _, e := range page.Events {
			k.tell(e)
		}
		if page.Next != "" {
			after = page.Next
		}
		if err != nil {
			select { // a keeper hangs, or none can be started
			case <-time.After(sliceTime):
			case <-ctx.Done():
			}
		}
	}
}

func (k *hooks) tell(e procmgr.Event) {
	p, m := e.Process, k.local.Metrics
	attrs := []slog.Attr{slog.String("process_id", p.ID), slog.String("chat_id", p.ChatID)}
	switch e.Kind {
	case procmgr.EventStarted:
		attrs = append(attrs, slog.Int("pid", p.PID))
		k.call("Metrics.Started", m.Started != nil, func() { m.Started() })
		k.call("OnStart", k.local.OnStart != nil, func() { k.local.OnStart(p) })
	case procmgr.EventExited:
		attrs = append(attrs, slog.String("ended_by", string(p.EndedBy)))
		if p.ExitCode != nil {
			attrs = append(attrs, slog.Int("exit_code", *p.ExitCode))
		}
		k.call("Metrics.Exited", m.Exited != nil, func() { m.Exited(p.EndedBy, p.Elapsed) })
		k.call("OnExit", k.local.OnExit != nil, func() { k.local.OnExit(p) })
	case procmgr.EventDetached:
	default:
		return
	}
	k.log(slog.LevelInfo, "process "+string(e.Kind), attrs...)
}

// refused tells of a start of this program that has started nothing.
func (k *hooks) refused(err error) {
	m := k.local.Metrics
	k.call("Metrics.Refused", m != nil && m.Refused != nil, func() { m.Refused(err) })
}

// call calls a function of the opener if that is set. A panic ends this call alone.
func (k *hooks) call(name string, isSet bool, f func()) {
	if isSet {
		baseenv.Log(k.log).Hook(name, f)
	}
}

func (k *hooks) log(level slog.Level, msg string, attrs ...slog.Attr) {
	if k.local.Logger != nil {
		k.local.Logger.LogAttrs(context.Background(), level, msg, attrs...)
	}
}
