//go:build !linux

package osproc

// TellsStopped is false: nothing here tells that a process is stopped without a
// search.
const TellsStopped = false

func (s *session) stopped() bool { return false }
