package prochttp

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// maxCursor is the longest Next of a page in bytes.
const maxCursor = 4 << 10

// Events implements [procmgr.Manager]. It has the events of the Host behind
// the handler, and of all chats. If that Host has none, the error is
// [errors.ErrUnsupported].
//
// If an answer is lost, the client asks again, and no event is lost with it. If
// the server was restarted, the page has Gap once.
func (c *Client) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return c.all.Events(ctx, req)
}

func (m *manager) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	page, err := m.events(ctx, req)
	return page, wrap("events", "", err)
}

// events waits in slices. Reading takes no event away, so that a slice needs
// nothing of the one before but the place in which that ended.
func (m *manager) events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if err := m.check(); err != nil {
		return procmgr.EventPage{}, err
	}
	if len(req.After) > maxCursor {
		req.After = "?" // no page ends like this either
	}
	began := time.Now()
	for {
		var page procmgr.EventPage
		c := &call{manager: m, method: http.MethodGet, path: pathEvents, into: &page}
		c.prepare = func() {
			slice := req
			slice.Wait = max(min(req.Wait-time.Since(began), m.c.slice), 0)
			c.wait, c.query = slice.Wait, eventsQuery(slice).encode()
		}
		answer, err := m.c.call(ctx, c)
		if err != nil {
			if answer != nil && answer.failure.Page != nil {
				// Some machines are missing, and err names them.
				page := *answer.failure.Page
				return page, cmp.Or(m.own(page), err)
			}
			return procmgr.EventPage{}, err
		}
		if err := cmp.Or(answer.unread, m.own(page)); err != nil {
			return procmgr.EventPage{}, err
		}
		if !answer.waiting || time.Since(began) >= req.Wait {
			return page, nil
		}
		req.After = page.Next
	}
}

// own returns an error if a page has events of another chat.
func (m *manager) own(page procmgr.EventPage) error {
	for _, e := range page.Events {
		if m.isChat && e.Process.ChatID != m.chat {
			return errMixedUp
		}
	}
	return nil
}
