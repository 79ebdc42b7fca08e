//go:build !linux

package osproc

// TellsStopped is false: nothing here tells that a process is stopped without a
// search.
const TellsStopped = false

// Stopped returns false.
func (t *Tree) Stopped() bool { return false }
