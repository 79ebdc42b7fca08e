package prockeep

import "sync/atomic"

// called is set once Main has been called, and never changes back. Without that,
// this program cannot be started as a keeper: it would be a copy of itself that
// does its work a second time.
var called atomic.Bool

// Main turns the program into a keeper if Open has started it as one; then it
// does not return. Otherwise it returns at once. Call it first in main, and in
// TestMain.
func Main() {
	called.Store(true)
	runKeeper()
}
