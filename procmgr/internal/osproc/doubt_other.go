//go:build !linux

package osproc

// stillDoubtful returns none: there are no marks.
func (s *session) stillDoubtful() []int { return nil }
