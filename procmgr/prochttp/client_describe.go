package prochttp

import (
	"context"
	"net/http"
	"sync"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// maxMachines is how many chats' machines a client remembers. Beyond it, it asks
// again.
const maxMachines = 1024

// Describe implements [procmgr.Manager]. It describes the machine of the Host
// behind the handler. The answer is remembered until the server is restarted.
func (c *Client) Describe(ctx context.Context) (procmgr.Description, error) {
	return c.all.Describe(ctx)
}

func (m *manager) Describe(ctx context.Context) (procmgr.Description, error) {
	d, err := m.describe(ctx)
	return d, wrap("describe", "", err)
}

func (m *manager) describe(ctx context.Context) (procmgr.Description, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.Description{}, err
	}
	if err := m.check(); err != nil {
		return procmgr.Description{}, err
	}
	d, known := m.c.machines.get(m.c.seen.now(), m.chat)
	if known {
		d.Sandbox = check.Sandbox(d.Sandbox)
		return d, nil
	}
	answer, err := m.c.call(ctx, &call{manager: m, method: http.MethodGet, path: pathDescribe, into: &d})
	if err == nil {
		err = answer.unread
	}
	if err != nil {
		return procmgr.Description{}, err
	}
	d.Sandbox = check.Sandbox(d.Sandbox)
	m.c.machines.put(answer.instance, m.chat, d)
	d.Sandbox = check.Sandbox(d.Sandbox) // the caller may change its own
	return d, nil
}

// machines remember what is known of the machine of each chat.
type machines struct {
	mu       sync.Mutex // guards what follows
	instance string     // the server that has told
	byChat   map[string]procmgr.Description
}

func (s *machines) get(instance, chat string) (d procmgr.Description, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if instance == "" || instance != s.instance {
		return d, false
	}
	d, known = s.byChat[chat]
	return d, known
}

func (s *machines) put(instance, chat string, d procmgr.Description) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if instance != s.instance || len(s.byChat) >= maxMachines {
		s.instance, s.byChat = instance, make(map[string]procmgr.Description)
	}
	s.byChat[chat] = d
}
