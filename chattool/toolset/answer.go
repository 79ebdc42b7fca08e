package toolset

import (
	"reflect"
	"sync"

	"github.com/toolproc/toolproc/procmgr"
)

// An answer is what the manager that was asked last has said. A manager that
// cannot be compared is asked again each time.
type answer[T any] struct {
	mu   sync.Mutex // guards the fields below
	of   procmgr.Manager
	said T
}

// keep notes what a manager has said.
func (a *answer[T]) keep(m procmgr.Manager, said T) {
	if reflect.ValueOf(m).Comparable() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.of, a.said = m, said
	}
}

// from returns what a manager has said. ok is false if that is not known.
func (a *answer[T]) from(m procmgr.Manager) (said T, ok bool) {
	if !reflect.ValueOf(m).Comparable() {
		return said, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != m {
		return said, false
	}
	return a.said, true
}
