package toolset

import (
	"reflect"
	"sync"

	"github.com/toolproc/toolproc/procmgr"
)

// A lacking remembers which manager has said last that it does not offer a call.
// Nothing tells that before the first call.
type lacking struct {
	mu   sync.Mutex // guards last
	last procmgr.Manager
}

// note notes that a manager does not offer the call.
func (l *lacking) note(m procmgr.Manager) {
	if reflect.ValueOf(m).Comparable() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.last = m
	}
}

// in reports whether it is known that a manager does not offer the call.
func (l *lacking) in(m procmgr.Manager) bool {
	if !reflect.ValueOf(m).Comparable() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last == m
}
