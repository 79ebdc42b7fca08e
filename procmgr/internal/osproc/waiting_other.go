//go:build !linux

package osproc

// TellsWaiting reports whether Waiting can tell anything on this platform.
const TellsWaiting = false

// Waiting reports false: nobody can tell here.
func (t *Tree) Waiting() (w Waiting, ok bool) { return w, false }
