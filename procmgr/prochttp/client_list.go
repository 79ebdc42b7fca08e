package prochttp

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// List implements [procmgr.Manager].
func (m *manager) List(ctx context.Context, req procmgr.ListRequest) (_ procmgr.ListPage, err error) {
	defer func() { err = wrap("list", "", err) }()
	if err := m.check(); err != nil {
		return procmgr.ListPage{}, err
	}
	var page listPage
	answer, err := m.c.call(ctx, &call{manager: m, path: pathList, body: once(listBody(req)), into: &page})
	switch {
	case err != nil && answer != nil && answer.failure.List != nil:
		page = *answer.failure.List // some machines are missing, and err names them
	case err != nil:
		return procmgr.ListPage{}, err
	case answer.unread != nil:
		return procmgr.ListPage{}, answer.unread
	}
	for _, p := range page.Processes {
		if m.isChat && p.ChatID != m.chat {
			return procmgr.ListPage{}, errMixedUp
		}
	}
	return procmgr.ListPage(page), err
}

// Events implements [procmgr.Manager]. If the Host behind the handler has no
// events, the error is [errors.ErrUnsupported].
//
// If an answer is lost, the client asks again, and no event is lost with it. If
// the server was restarted, the page has Gap once.
func (m *manager) Events(ctx context.Context, req procmgr.EventsRequest) (_ procmgr.EventPage, err error) {
	defer func() { err = wrap("events", "", err) }()
	if err := m.check(); err != nil {
		return procmgr.EventPage{}, err
	}
	began := time.Now()
	body := eventsBody(req)
	body.After = strings.ToValidUTF8(body.After, "?") // no page ends like this either
	// Reading takes no event away, so that a slice needs nothing of the one before but the
	// place in which that ended.
	for {
		var page procmgr.EventPage
		answer, err := m.c.call(ctx, &call{manager: m, path: pathEvents, into: &page, body: func() (any, time.Duration) {
			body.Wait = m.c.left(req.Wait, began)
			return body, body.Wait
		}})
		if err != nil {
			if answer == nil || answer.failure.Page == nil {
				return procmgr.EventPage{}, err
			}
			page = *answer.failure.Page // some machines are missing, and err names them
			return page, cmp.Or(m.own(page), err)
		}
		if err := cmp.Or(answer.unread, m.own(page)); err != nil {
			return procmgr.EventPage{}, err
		}
		if !answer.waiting || time.Since(began) >= req.Wait {
			return page, nil
		}
		body.After = page.Next
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

// left returns how long the next request of a wait waits, which began at a time.
func (c *Client) left(wait time.Duration, began time.Time) time.Duration {
	return max(min(wait-time.Since(began), c.slice), 0)
}

// Describe implements [procmgr.Manager]. It describes the machine of the Host
// behind the handler. The answer is remembered until the server is restarted.
func (m *manager) Describe(ctx context.Context) (procmgr.Description, error) {
	d, err := m.describe(ctx)
	d.Sandbox = check.Sandbox(d.Sandbox) // the caller may change its own
	return d, wrap("describe", "", err)
}

func (m *manager) describe(ctx context.Context) (d procmgr.Description, err error) {
	if err := cmp.Or(ctx.Err(), m.check()); err != nil {
		return d, err
	}
	all := &m.c.machines
	all.mu.Lock()
	d, known := all.known[machineOf{m.c.seen.now(), m.chat}]
	all.mu.Unlock()
	if known {
		return d, nil
	}
	answer, err := m.c.call(ctx, &call{manager: m, path: pathDescribe, body: once(struct{}{}), into: &d})
	if err == nil {
		err = answer.unread
	}
	if err != nil {
		return procmgr.Description{}, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.known == nil || len(all.known) >= maxMachines {
		all.known = make(map[machineOf]procmgr.Description)
	}
	all.known[machineOf{answer.instance, m.chat}] = d
	return d, nil
}

// maxMachines is how many machines a client remembers. Beyond it, it asks again.
const maxMachines = 1024

// machines remember what is known of the machine of each chat.
type machines struct {
	mu    sync.Mutex // guards known
	known map[machineOf]procmgr.Description
}

type machineOf struct{ instance, chat string }
