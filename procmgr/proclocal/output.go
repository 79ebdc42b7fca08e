package proclocal

import (
	"context"
	"slices"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/linediff"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/paging"
)

// output is Output in one chat.
func (l *Local) output(ctx context.Context, chat, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	m, err := capture.NewMatcher(req.Until)
	if err == nil {
		err = checkPorts(req)
	}
	if err != nil {
		return procmgr.Output{}, err
	}
	r, past, err := l.find(ctx, chat, id)
	switch {
	case err != nil:
		return procmgr.Output{}, err
	case past != nil:
		return past.output(req), nil
	}
	state := req.State
	if state == "" {
		state = r.state()
	}
	from := min(max(req.From, 0), r.out.Visible()) // an offset beyond the end is the end as it is now
	if m != nil {
		if err := r.out.Watch(ctx, m, from); err != nil {
			return r.output(from, req.Limit, 0, nil), err
		}
	}
	var found []osproc.Listen
	var polls []poll
	if req.UntilListening != 0 {
		polls = append(polls, l.listens(r, req.UntilListening, &found))
	}
	err = r.wait(ctx, state, req.Wait, m, append(polls, r.asks(req.UntilWaiting)...)...)
	out := r.output(from, req.Limit, req.Highlight, m)
	if failed := l.tellPorts(ctx, r, &out, req, found); err == nil {
		err = failed
	}
	if req.Screen && r.in != nil {
		out.Screen = r.in.Screen()
	}
	if req.Against != "" && out.Process.State == procmgr.Exited {
		out.Changes = l.changes(ctx, r, req.Against, req.Limit)
	}
	return out, err
}

// find returns the record of an ID in one chat, once its start has succeeded, or the
// tombstone.
func (l *Local) find(ctx context.Context, chat, id string) (*record, *tombstone, error) {
	l.mu.Lock()
	a := l.table.get(chat, id)
	l.mu.Unlock()
	switch {
	case a.past != nil && !a.past.spent:
		return nil, a.past, nil
	case a.record == nil: // a stop may have spent the ID
		return nil, nil, procmgr.ErrNotFound
	}
	if failed, err := a.record.started(ctx); failed {
		return nil, nil, procmgr.ErrNotFound // nothing was started, the ID is unused
	} else if err != nil {
		return nil, nil, err
	}
	return a.record, nil, nil
}

// output reads from an offset on, with so many bytes of highlights, and takes a
// matcher back; nil for none. It
// takes the process before the text: if the process has exited, the text is all
// there is.
func (r *record) output(from int64, limit headtail.Limits, highlight int, m *capture.Matcher) procmgr.Output {
	process := r.now()
	process.Waiting = r.waiting(process.State)
	withheld := r.names()
	page := r.out.Read(from, limit, m)
	failed := process.ExitCode != nil && *process.ExitCode != 0
	page, found := r.out.Highlighted(page, limit, highlight, failed)
	var highlights []procmgr.Highlight
	for _, h := range found {
		highlights = append(highlights, procmgr.Highlight(h))
	}
	return procmgr.Output{
		Process:     process,
		Withheld:    withheld,
		Text:        page.Text,
		Truncated:   page.Truncated,
		Next:        page.Next,
		Redacted:    r.out.Redacted(),
		Live:        page.Text[len(page.Text)-page.Live:],
		Matched:     page.Matched,
		MatchedLine: page.Found.Line,
		MatchedAt:   page.Found.Offset,
		Unsearched:  page.Unsearched,
		Highlights:  highlights,
	}
}

// A poll looks for something that ends a wait, and returns when to look again.
type poll func() (ends bool, pause time.Duration)

// wait returns when the process is no longer in the given state or has exited, when m
// matches, when a poll ends it, or when d is over. m may be nil. An error is ctx's.
func (r *record) wait(ctx context.Context, in procmgr.State, d time.Duration, m *capture.Matcher, polls ...poll) error {
	if d <= 0 {
		return nil
	}
	over := time.Now().Add(d)
	timer := time.NewTimer(d)
	defer timer.Stop()
	due := make([]time.Time, len(polls))
	for {
		state, changed := r.stateAndChange()
		if state != in || state == procmgr.Exited || !time.Now().Before(over) {
			return nil
		}
		next := over
		for i, look := range polls {
			if !time.Now().Before(due[i]) {
				ends, pause := look()
				if ends {
					return nil
				}
				due[i] = time.Now().Add(pause)
			}
			if due[i].Before(next) {
				next = due[i]
			}
		}
		timer.Reset(time.Until(next))
		select {
		case <-changed:
		case <-m.Matched():
			return nil
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const (
	// maxCompared is how many bytes an output has at most that is compared.
	maxCompared = 8 << 20
	// comparedAtOnce is how many comparisons are under way at most, since each has both
	// outputs in memory.
	comparedAtOnce = 2
)

// changes compares the outputs of a process and of another process of its chat. It
// returns nil if no comparison is possible.
func (l *Local) changes(ctx context.Context, r *record, against string, limit headtail.Limits) *procmgr.Changes {
	l.mu.Lock()
	before := l.table.get(r.chat, against).record
	l.mu.Unlock()
	if before == nil || !r.exited() || !before.exited() {
		return nil
	}
	select {
	case l.comparing <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-l.comparing }()
	was, ok := before.compared()
	if !ok {
		return nil
	}
	is, ok := r.compared()
	if !ok {
		return nil
	}
	c, ok := linediff.Find(was, is, limit)
	if !ok {
		return nil
	}
	return (*procmgr.Changes)(&c)
}

// compared returns all of the output of a process that has ended.
func (r *record) compared() (out linediff.Output, ok bool) {
	p := r.shown.Load()
	out.Start, out.Took = p.StartedAt, p.ExitedAt.Sub(p.StartedAt)
	out.Text, ok = r.out.Whole(maxCompared)
	return out, ok
}

// list is List of one chat, or of all for "".
func (l *Local) list(ctx context.Context, chat string, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.ListPage{}, err
	}
	if from := baseenv.From(ctx); from != nil && from.Limits != nil {
		l.change(*from.Limits)
	}
	l.mu.Lock()
	all := l.table.all
	if chat != "" {
		all = l.table.of(chat).all
	}
	all = slices.Clone(all)
	l.mu.Unlock()
	shown := make([]*procmgr.Process, len(all)) // what a record shows may change meanwhile
	picked, total, live, err := paging.Pick(len(all), paging.Request{State: string(req.State), Offset: req.Offset, Limit: req.Limit}, func(i int) (state string, background, ok bool) {
		if shown[i] = all[i].shown.Load(); shown[i] == nil {
			return "", false, false // it has not begun
		}
		return string(shown[i].State), shown[i].Background, true
	})
	page := procmgr.ListPage{Total: total, Live: live, Processes: slices.Grow([]procmgr.Process(nil), len(picked))}
	now := time.Now()
	for _, i := range picked {
		p := clone(*shown[i]) // the caller may change it
		p.Elapsed = elapsed(&p, now)
		r := all[i]
		r.out.LookForLog()
		p.LogPath, p.LogError = r.out.Log()
		p.Waiting = r.waiting(p.State)
		page.Processes = append(page.Processes, p)
	}
	return page, err
}
