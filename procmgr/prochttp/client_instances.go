package prochttp

import (
	"sync"
)

// maxSent is the number of process IDs that a client remembers. It is the
// number of tombstones that a Local keeps.
const maxSent = 16384

// instances remembers to which server each process ID was sent. A server that
// was restarted knows none of the IDs, and would run a command again.
type instances struct {
	mu      sync.Mutex // guards the fields below
	current string     // the instance that answered last
	asked   map[processKey]sentTo
	order   []processKey // a ring, once it is full
	next    int
}

type processKey struct{ chat, id string }

// sentTo says to which server an ID was sent.
type sentTo struct {
	instance string
	place    int  // in order
	shared   bool // several calls sent the ID: none of them knows what the others did
}

// claim returns the server to which an ID was sent. If the ID is new, claim
// remembers that it goes to the server that answered last. The instance is "" if
// no server has answered yet.
func (s *instances) claim(chat, id string) (instance string, asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := processKey{chat, id}
	if to, ok := s.asked[key]; ok {
		to.shared = true
		s.asked[key] = to
		return to.instance, true
	}
	if s.current == "" {
		return "", false
	}
	if s.asked == nil {
		s.asked = make(map[processKey]sentTo)
	}
	s.asked[key] = sentTo{instance: s.current, place: s.next}
	if len(s.order) < maxSent {
		s.order = append(s.order, key)
	} else {
		// If the oldest ID was forgotten and sent again, it has a newer place.
		if oldest := s.order[s.next]; s.asked[oldest].place == s.next && oldest != key {
			delete(s.asked, oldest)
		}
		s.order[s.next] = key
	}
	s.next = (s.next + 1) % maxSent
	return s.current, false
}

// move remembers that an ID goes to another server. It reports false if another
// call may have sent the ID to the first server.
func (s *instances) move(chat, id, instance string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := processKey{chat, id}
	to, ok := s.asked[key]
	if !ok || to.shared {
		return false
	}
	to.instance = instance
	s.asked[key] = to
	return true
}

// forget forgets an ID that was not sent, or under which nothing ran. It does
// nothing if another call may have sent the ID.
func (s *instances) forget(chat, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := (processKey{chat, id}); !s.asked[key].shared {
		delete(s.asked, key)
	}
}

// answered remembers the instance that answered last.
func (s *instances) answered(instance string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = instance
}

// now returns the server that answered last, or "".
func (s *instances) now() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// elsewhere reports whether an ID was sent to another server than this one, which
// may not know it.
func (s *instances) elsewhere(chat, id, instance string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	to, ok := s.asked[processKey{chat, id}]
	return ok && to.instance != instance
}
