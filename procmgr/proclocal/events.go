package proclocal

import (
	"context"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// tell is Events for one viewer.
func (l *Local) tell(ctx context.Context, v retention.Viewer, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.EventPage{}, err
	}
	rest := l.lookForPrompts(v)
	page, bell, err := l.look(v, req)
	if bell == nil {
		return page, err
	}
	began := time.Now()
	over := time.NewTimer(req.Wait)
	defer over.Stop()
	defer func() { l.opts.Metrics.waited(time.Since(began)) }()
	for {
		var round <-chan time.Time
		if rest > 0 {
			round = time.After(rest)
		}
		select {
		case <-round:
			rest = l.lookForPrompts(v)
			continue // an event rings the bell
		case <-bell.Rings:
		case <-over.C:
			l.leave(v, bell)
			return page, nil
		case <-ctx.Done():
			l.leave(v, bell)
			return procmgr.EventPage{}, ctx.Err()
		}
		if page, bell, err = l.look(v, req); bell == nil {
			return page, err
		}
	}
}

// look returns a page for a viewer. If the viewer has to wait for an event,
// look also returns the bell that rings at the next one.
func (l *Local) look(v retention.Viewer, req procmgr.EventsRequest) (page procmgr.EventPage, b *retention.Bell, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	page = l.events.Page(v, req)
	for i := range page.Events {
		p := &page.Events[i].Process
		if l.table.get(p.ChatID, p.ID).record == nil {
			p.LogPath = "" // the log went with the record
		}
	}
	switch {
	case len(page.Events) > 0, page.Gap, req.Wait <= 0:
		return page, nil, nil
	case l.events.Closed:
		return page, nil, procmgr.ErrClosed
	}
	return page, l.events.Listen(v), nil
}

func (l *Local) leave(v retention.Viewer, b *retention.Bell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events.Leave(v, b)
}
