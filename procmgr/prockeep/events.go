package prockeep

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
)

// List and Events ask all keepers, as package procroute does it for machines. What dead
// keepers have lost comes from the file "ids", as if it were one more machine.

const (
	// routeTime is how long each keeper has to answer. askTime is a little less, so that
	// a keeper that hangs is answered for from the file.
	routeTime = 5 * time.Second
	askTime   = 4 * time.Second
	// watchTime is how often a wait for events looks for other keepers.
	watchTime = 200 * time.Millisecond
	// nameLost is the name of the machine that stands for the file.
	nameLost = "lost"
)

// A routed is a question to all keepers; it travels in the context.
type routed struct {
	*view
	read time.Time // when the caller had read all events
}

type routedKey struct{}

// A router is a [procroute.Router] of the keepers.
type router struct{ h *Host }

// Host implements procroute.Router. Nobody asks for a chat's machine.
func (r router) Host(context.Context, string) (procmgr.Host, error) { return nil, errAbsent }

// Hosts implements procroute.Router.
func (r router) Hosts(ctx context.Context) (map[string]procmgr.Host, error) {
	q, _ := ctx.Value(routedKey{}).(routed)
	if err := q.valid(); err != nil {
		return nil, err
	}
	all := make(map[string]procmgr.Host)
	err := r.h.read(func(t *table) {
		for token, g := range t.generations {
			p := &part{routed: q, token: token, pid: g.PID}
			for _, c := range g.claims() {
				if q.sees(c) {
					p.running = append(p.running, c.process())
				}
			}
			all[token] = p
		}
		for token, ended := range t.ended {
			all[token] = &part{routed: q, gap: !ended.Before(q.read)}
		}
		lost := &lostPart{file: t.file}
		for _, l := range t.lost {
			lost.all = append(lost.all, nil)
			if c := t.claims[l.key]; c != nil && q.sees(c) {
				p := c.process()
				lost.all[len(lost.all)-1] = &p
			}
		}
		lost.since = time.Now().Add(-r.h.retain)
		all[nameLost] = lost
	})
	return all, err
}

// sees reports whether a view has a process.
func (v *view) sees(c *claim) bool { return !v.isChat || c.Chat == v.chat }

// A part is a keeper's part of an answer. One without a token has ended in order.
type part struct {
	procmgr.Unsupported
	routed
	token   string
	pid     int
	running []procmgr.Process // as the file has them
	gap     bool              // the caller may not have read its last events
}

// Chat implements [procmgr.Host].
func (p *part) Chat(string) procmgr.Manager { return p }

// List implements [procmgr.Manager]. What a keeper runs that does not answer is running,
// as far as anybody knows.
func (p *part) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if p.token == "" {
		return procmgr.ListPage{}, nil
	}
	short, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	page, err := p.at(p.token).List(short, req)
	switch {
	case err == nil || ctx.Err() != nil:
		return page, err
	case p.h.died(ctx, p.token, err):
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
	if p.token == "" {
		gap := p.gap && req.After != "" && req.After != endedCursor
		return procmgr.EventPage{Next: endedCursor, Gap: gap}, nil
	}
	page, err := p.at(p.token).Events(ctx, req)
	if err != nil && ctx.Err() == nil && p.h.died(ctx, p.token, err) {
		return procmgr.EventPage{Next: req.After}, nil // it has just ended
	}
	return page, err
}

// endedCursor is the cursor of a keeper that has ended.
const endedCursor = "-"

// A lostPart has the processes that were lost with their keepers.
type lostPart struct {
	procmgr.Unsupported
	file  string
	all   []*procmgr.Process // nil for one that the view doesn't have
	since time.Time          // List has what was lost since then
}

// Chat implements [procmgr.Host].
func (l *lostPart) Chat(string) procmgr.Manager { return l }

// List implements [procmgr.Manager].
func (l *lostPart) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	var all []procmgr.Process
	for _, p := range l.all {
		if p != nil && p.ExitedAt.After(l.since) {
			all = append(all, *p)
		}
	}
	return procmgr.PageOf(all, req)
}

// Events implements [procmgr.Manager]. A cursor is the name of the file and a number.
func (l *lostPart) Events(ctx context.Context, req procmgr.EventsRequest) (page procmgr.EventPage, err error) {
	at := 0
	file, number, _ := strings.Cut(req.After, ".")
	switch n, err := strconv.Atoi(number); {
	case err == nil && file == l.file && n >= 0 && n <= len(l.all):
		at = n
	case req.After != "":
		page.Gap = true
	}
	for ; at < len(l.all) && (req.Limit <= 0 || len(page.Events) < req.Limit); at++ {
		if p := l.all[at]; p != nil {
			page.Events = append(page.Events, procmgr.Event{At: p.ExitedAt, Kind: procmgr.EventExited, Process: *p})
		}
	}
	page.Next = l.file + "." + strconv.Itoa(at)
	if req.Wait > 0 && len(page.Events) == 0 && !page.Gap {
		select { // the caller looks for news, and asks again
		case <-time.After(req.Wait):
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
	return page, nil
}

// List implements [procmgr.Manager]. The host has the processes of every chat. If a
// keeper does not answer, the error is a *[procmgr.PartialError] and its processes are
// listed as running.
func (v *view) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if err := v.ready(ctx); err != nil {
		return procmgr.ListPage{}, callerr.Wrap("list", "", err)
	}
	return v.h.route.List(context.WithValue(ctx, routedKey{}, routed{view: v}), req)
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

// Events implements [procmgr.Manager]. The host has the events of every chat. The cursor
// has a place for each keeper.
func (v *view) Events(ctx context.Context, req procmgr.EventsRequest) (page procmgr.EventPage, err error) {
	q := routed{view: v}
	millis, after, ok := strings.Cut(req.After, ".")
	if ms, err := strconv.ParseInt(millis, 36, 64); ok && err == nil {
		q.read, req.After = time.UnixMilli(ms), after
	}
	until := time.Now().Add(req.Wait)
	for {
		if err := v.ready(ctx); err != nil {
			return page, callerr.Wrap("events", "", err)
		}
		before, begun := v.h.news(), time.Now()
		req.Wait = max(time.Until(until), 0)
		waiting, stop := context.WithCancel(context.WithValue(ctx, routedKey{}, q))
		if req.Wait > 0 {
			go v.h.watch(waiting, stop, before) // it ends with waiting
		}
		page, err = v.h.route.Events(waiting, req)
		news := waiting.Err() != nil && ctx.Err() == nil
		stop()
		var missing *procmgr.PartialError
		if errors.As(err, &missing) && req.Wait > 0 && len(page.Events) == 0 && !page.Gap && v.h.anyDead() {
			news = true // its connection broke; what it had is about to be told as lost
		}
		if news && len(page.Events) == 0 && !page.Gap {
			continue
		}
		if page.Next != "" {
			if full := req.Limit >= 0 && len(page.Events) >= max(req.Limit, 1); full {
				begun = q.read // there may be more
			}
			page.Next = strconv.FormatInt(begun.UnixMilli(), 36) + "." + page.Next
		}
		return page, err
	}
}

// A news says which keepers there are, and how many processes were lost.
type news struct {
	newest            string
	generations, lost int
}

func (h *Host) news() (n news) {
	_ = h.read(func(t *table) { n = news{t.newest, len(t.generations), len(t.lost)} }) // the next call tells an error
	return n
}

// watch calls stop if there are news.
func (h *Host) watch(ctx context.Context, stop func(), before news) {
	ticker := time.NewTicker(watchTime)
	defer ticker.Stop()
	for h.news() == before && !h.anyDead() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
	stop()
}

// anyDead reports whether a keeper has died.
func (h *Host) anyDead() (dead bool) {
	var tokens []string
	_ = h.read(func(t *table) { tokens = t.tokens() }) // the next call tells an error
	for _, token := range tokens {
		dead = dead || isDead(h.dir, token)
	}
	return dead
}
