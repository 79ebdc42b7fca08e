//go:build !linux

package osproc

// TellsMembers reports whether Members can tell anything on this platform.
const TellsMembers = false

// Members returns the members of a tree.
func (s *System) Members(*Tree) (all []Use, looked bool) { return nil, false }
