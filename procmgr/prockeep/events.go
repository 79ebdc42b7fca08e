package prockeep

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/procroute"
)

// List and Events ask all keepers, as package procroute does it for machines. What dead
// keepers have lost comes from the file "ids", as if it were one more machine.

const (
	// routeTime is how long each keeper has to answer. askTime is a little less, so that
	// a keeper that hangs is answered for from the file.
	routeTime = 5 * time.Second
	askTime   = 4 * time.Second
	// sliceTime is how often a wait for events looks for other keepers.
	sliceTime = time.Second
	// nameLost is the name of the machine that stands for the file.
	nameLost = "lost"
)

// A router is a [procroute.Router] of the keepers, for the view that asks them.
type router struct{ v *view }

// route returns all keepers as one Host.
func (v *view) route() procmgr.Host {
	return procroute.New(router{v}, &procroute.Options{Timeout: routeTime})
}

// Host implements procroute.Router. It is never asked for a chat's machine.
func (r router) Host(context.Context, string) (procmgr.Host, error) { return nil, errNone }

// Hosts implements procroute.Router.
func (r router) Hosts(context.Context) (map[string]procmgr.Host, error) {
	v, all := r.v, make(map[string]procmgr.Host)
	err := v.h.read(func(t *table) {
		for token, g := range t.generations {
			p := &part{view: v, token: token, pid: g.PID}
			for _, c := range t.running(token) {
				if v.sees(c) {
					p.running = append(p.running, c.process())
				}
			}
			all[token] = p
		}
		lost := &lostPart{since: time.Now().Add(-v.h.retain)}
		for _, c := range t.lost() {
			if v.sees(c) {
				lost.all = append(lost.all, c.process())
			}
		}
		all[nameLost] = lost
	})
	return all, err
}

// sees reports whether a view has a process.
func (v *view) sees(c *claim) bool { return !v.isChat || c.Chat == v.chat }

// A part is a keeper's part of an answer.
type part struct {
	procmgr.Unsupported
	view    *view
	token   string
	pid     int
	running []procmgr.Process // as the file has them
}

// Chat implements [procmgr.Host].
func (p *part) Chat(string) procmgr.Manager { return p }

// List implements [procmgr.Manager]. What a keeper runs that does not answer is running,
// as far as anybody knows.
func (p *part) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	short, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	page, err := p.view.at(p.token).List(short, req)
	switch {
	case err == nil || ctx.Err() != nil:
		return page, err
	case p.view.h.died(ctx, p.token, err):
		return procmgr.ListPage{}, nil // it has just ended
	}
	page, failed := procmgr.PageOf(p.running, req)
	if failed != nil {
		return page, failed
	}
	return page, &procmgr.PartialError{Missing: map[string]error{"process " + strconv.Itoa(p.pid): err}}
}

// Events implements [procmgr.Manager].
func (p *part) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	page, err := p.view.at(p.token).Events(ctx, req)
	if err != nil && ctx.Err() == nil && p.view.h.died(ctx, p.token, err) {
		return procmgr.EventPage{Next: req.After}, nil // it has just ended
	}
	return page, err
}

// A lostPart has the processes that were lost with their keepers.
type lostPart struct {
	procmgr.Unsupported
	all   []procmgr.Process
	since time.Time // List has what was lost since then
}

// Chat implements [procmgr.Host].
func (l *lostPart) Chat(string) procmgr.Manager { return l }

// List implements [procmgr.Manager].
func (l *lostPart) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	var recent []procmgr.Process
	for _, p := range l.all {
		if p.ExitedAt.After(l.since) {
			recent = append(recent, p)
		}
	}
	return procmgr.PageOf(recent, req)
}

// Events implements [procmgr.Manager]. It does not wait, because the caller asks again. A
// cursor is the time of the last process. No two processes have the same one (see
// table.add), and it stays the same when the file is written anew.
func (l *lostPart) Events(_ context.Context, req procmgr.EventsRequest) (page procmgr.EventPage, err error) {
	after, failed := strconv.ParseInt(req.After, 10, 64)
	if failed != nil {
		page.Gap, after = req.After != "", 0
	}
	last := after
	for _, p := range l.all {
		if at := p.ExitedAt.UnixMilli(); at > after && (req.Limit <= 0 || len(page.Events) < req.Limit) {
			page.Events = append(page.Events, procmgr.Event{At: p.ExitedAt, Kind: procmgr.EventExited, Process: p})
			last = at
		}
	}
	page.Next = strconv.FormatInt(last, 10)
	return page, nil
}

// ready ends what dead keepers have left, so that an answer tells of it.
func (v *view) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := v.valid(); err != nil {
		return err
	}
	return v.h.endDead(ctx)
}

// List implements [procmgr.Manager]. The host has the processes of every chat. If a
// keeper does not answer, the error is a *[procmgr.PartialError] and its processes are
// listed as running.
func (v *view) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if err := v.ready(ctx); err != nil {
		return procmgr.ListPage{}, callerr.Wrap("list", "", err)
	}
	return v.route().List(ctx, req)
}

// Events implements [procmgr.Manager]. The host has the events of every chat. The cursor
// has a place for each keeper. When a keeper has ended, the next page has Gap.
func (v *view) Events(ctx context.Context, req procmgr.EventsRequest) (page procmgr.EventPage, err error) {
	for until := time.Now().Add(req.Wait); ; pause(ctx) {
		if err := v.ready(ctx); err != nil {
			return page, callerr.Wrap("events", "", err)
		}
		left := time.Until(until)
		req.Wait = max(min(left, sliceTime), 0)
		page, err = v.route().Events(ctx, req)
		var missing *procmgr.PartialError // of a keeper that has died or hangs
		if len(page.Events) > 0 || page.Gap || left <= 0 || err != nil && !errors.As(err, &missing) {
			return page, err
		}
	}
}
