package proclocal

import "sync"

// maxTold is how many names are remembered for all chats. If there are more, some are
// named once more.
const maxTold = 4 << 10

// toldNames remembers which withheld variables each chat has been told of.
type toldNames struct {
	mu    sync.Mutex // guards names
	names map[toldName]bool
}

// A toldName is a variable and a chat that was told of it.
type toldName struct{ chat, name string }

// tell returns the names of which a chat was not told before, and remembers them.
func (t *toldNames) tell(chat string, names []string) (untold []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil || len(t.names) >= maxTold {
		t.names = make(map[toldName]bool)
	}
	for _, name := range names {
		if told := (toldName{chat, name}); !t.names[told] {
			t.names[told] = true
			untold = append(untold, name)
		}
	}
	return untold
}
