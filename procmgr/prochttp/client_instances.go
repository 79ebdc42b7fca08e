package prochttp

import "sync"

// maxSent is how many process IDs a client remembers: as many as a Local has
// tombstones.
const maxSent = 16384

// instances remember which server each process ID was sent to. A server that
// was restarted knows none of them, and would run a command again.
type instances struct {
	mu      sync.Mutex // guards what follows
	current string     // the one that answered last
	asked   map[processKey]sentTo
	order   []processKey // a ring, once it is full
	next    int
}

type processKey struct{ chat, id string }

// sentTo is where an ID was sent.
type sentTo struct {
	instance string
	place    int  // in order
	shared   bool // by more than one call: none of them knows what the others did
}

// claim returns where an ID was sent, or remembers that it goes to the server
// that answered last. The instance is "" where none has answered yet.
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
		// One that was forgotten, and sent again, has a newer place.
		if oldest := s.order[s.next]; s.asked[oldest].place == s.next && oldest != key {
			delete(s.asked, oldest)
		}
		s.order[s.next] = key
	}
	s.next = (s.next + 1) % maxSent
	return s.current, false
}

// move remembers that an ID goes to another server after all. It reports false
// where another call may have sent it to the first one.
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

// forget forgets an ID under which nothing was sent, or nothing ran, unless
// another call may have sent it.
func (s *instances) forget(chat, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := (processKey{chat, id}); !s.asked[key].shared {
		delete(s.asked, key)
	}
}

// answered remembers who answered.
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

// elsewhere reports whether an ID was sent to another server than this one.
func (s *instances) elsewhere(chat, id, instance string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	to, ok := s.asked[processKey{chat, id}]
	return ok && to.instance != instance
}
