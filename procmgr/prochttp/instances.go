package prochttp

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// maxSent is how many process IDs a client remembers: as many as a Local has
// tombstones.
const maxSent = 16384

// instances remember which server each process ID was sent to. A server that
// was restarted knows none of them, and would run a command again.
type instances struct {
	mu      sync.Mutex // guards what follows
	current string     // the one that answered last
	asked   map[processKey]string
	order   []processKey // a ring, once it is full
	next    int
}

type processKey struct{ chat, id string }

// instanceFor returns which server a start is meant for. asked reports that the
// ID was sent before.
func (c *Client) instanceFor(ctx context.Context, chat, id string) (instance string, asked bool, err error) {
	c.seen.mu.Lock()
	instance, asked = c.seen.asked[processKey{chat, id}]
	if !asked {
		instance = c.seen.current
	}
	c.seen.mu.Unlock()
	if instance == "" {
		// The first call of all: a start that names nobody could run twice.
		answer, err := c.call(ctx, &call{manager: &c.all, method: http.MethodGet, path: pathHealth})
		if err != nil {
			return "", false, err
		}
		instance = answer.instance
	}
	if !asked {
		c.seen.sent(chat, id, instance)
	}
	return instance, asked, nil
}

// sent remembers where an ID was sent.
func (s *instances) sent(chat, id, instance string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = make(map[processKey]string)
	}
	key := processKey{chat, id}
	if _, ok := s.asked[key]; ok {
		s.asked[key] = instance
		return
	}
	s.asked[key] = instance
	if len(s.order) < maxSent {
		s.order = append(s.order, key)
		return
	}
	delete(s.asked, s.order[s.next])
	s.order[s.next] = key
	s.next = (s.next + 1) % maxSent
}

// forget forgets an ID under which nothing was sent, or nothing ran.
func (s *instances) forget(chat, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, processKey{chat, id})
}

// answered remembers who answered.
func (s *instances) answered(instance string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = instance
}

// explain adds to "not found" that the server has been restarted since the
// process was started on it.
func (s *instances) explain(chat, id string, err error) error {
	if !errors.Is(err, procmgr.ErrNotFound) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if instance, ok := s.asked[processKey{chat, id}]; ok && instance != s.current {
		return xerrors.Errorf("the server was restarted since this process was started, and what has become of it is not known: %w", procmgr.ErrNotFound)
	}
	return err
}
