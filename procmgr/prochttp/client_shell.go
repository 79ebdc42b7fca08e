package prochttp

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// maxShells is how many chats' shells a client remembers. Beyond it, it asks
// again.
const maxShells = 1024

var (
	_ procmgr.ShellManager = (*Client)(nil)
	_ procmgr.ShellManager = (*manager)(nil)
)

// Shell implements [procmgr.ShellManager]. It names the shell of the Host behind
// the handler. The answer is remembered until the server is restarted. If that
// Host cannot tell, or the handler is of a version that does not, the error is
// [errors.ErrUnsupported].
func (c *Client) Shell(ctx context.Context) (string, error) { return c.all.Shell(ctx) }

func (m *manager) Shell(ctx context.Context) (string, error) {
	name, err := m.shell(ctx)
	return name, wrap("shell", "", err)
}

func (m *manager) shell(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := m.check(); err != nil {
		return "", err
	}
	name, known := m.c.shells.get(m.c.seen.now(), m.chat)
	if !known {
		var body shellBody
		answer, err := m.c.call(ctx, &call{manager: m, method: http.MethodGet, path: pathShell, into: &body})
		switch {
		case err == nil && answer.unread != nil:
			return "", answer.unread
		case err == nil:
			name = body.Shell
		case answer != nil && answer.failure.Code == codeNoEndpoint:
			// A handler of an earlier version.
		default:
			return "", err
		}
		m.c.shells.put(answer.instance, m.chat, name)
	}
	if name == "" {
		return "", xerrors.Errorf("the server does not tell which shell runs the commands: %w", errors.ErrUnsupported)
	}
	return name, nil
}

// shells remember which shell runs the commands of each chat, "" if the server
// does not tell.
type shells struct {
	mu       sync.Mutex // guards what follows
	instance string     // the server that has told
	byChat   map[string]string
}

func (s *shells) get(instance, chat string) (name string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if instance == "" || instance != s.instance {
		return "", false
	}
	name, known = s.byChat[chat]
	return name, known
}

func (s *shells) put(instance, chat, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if instance != s.instance || len(s.byChat) >= maxShells {
		s.instance, s.byChat = instance, make(map[string]string)
	}
	s.byChat[chat] = name
}
