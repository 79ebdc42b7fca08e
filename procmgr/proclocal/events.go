package proclocal

import (
	"context"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// Events implements [procmgr.Manager]. It has the events of every chat, and of the
// processes that the host itself has started.
//
// The last 1,024 events of each chat are kept, and 16,384 of all chats
// together. Beyond that, the chat with the most events loses its oldest one. So
// no chat can push out the events of another chat. Events outlive the record
// and the tombstone of their process.
//
// After Close there are no more events. Those that are kept can be read, and a
// call that would have to wait for one is [procmgr.ErrClosed].
func (l *Local) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	page, err := l.tell(ctx, retention.Viewer{Host: true}, req)
	return page, callerr.Wrap("events", "", err)
}

func (c *chat) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if c.err != nil {
		return procmgr.EventPage{}, callerr.Wrap("events", "", c.err)
	}
	page, err := c.local.tell(ctx, retention.Viewer{Chat: c.id}, req)
	return page, callerr.Wrap("events", "", err)
}

// tell is Events for one viewer.
func (l *Local) tell(ctx context.Context, v retention.Viewer, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.EventPage{}, err
	}
	page, bell, err := l.look(v, req)
	if bell == nil {
		return page, err
	}
	began := time.Now()
	over := time.NewTimer(req.Wait)
	defer over.Stop()
	defer func() { l.opts.Metrics.waited(time.Since(began)) }()
	for {
		select {
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
		if !l.opts.KeepLogs && l.chats.get(p.ChatID, p.ID) == nil {
			p.LogPath = "" // the log went with the record
		}
	}
	switch {
	case len(page.Events) > 0, page.Gap, req.Latest, req.Wait <= 0:
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
