//go:build !linux

package osproc

// Doubtful returns none: there are no marks.
func (t *Tree) Doubtful() []int { return nil }
