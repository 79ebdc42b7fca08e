package osproc

import (
	"cmp"
	"slices"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// TellsMembers reports whether Members can tell anything on this platform.
const TellsMembers = true

// Members returns the members of a tree that live, in the order of their numbers. It
// reports false if it could not look.
func (s *System) Members(t *Tree) (all []Use, looked bool) {
	found, looked := s.sessions.find([]*session{t.session}, true)
	members := found[t.session]
	defer closeMembers(members)
	if !looked {
		return nil, false
	}
	for _, m := range members {
		if m == unseen {
			continue
		}
		// The number is the member's as long as that lives.
		if use, ok := procstat.LookUse(m.pid); ok && m.alive() {
			all = append(all, Use{m.pid, use})
		}
	}
	slices.SortFunc(all, func(a, b Use) int { return cmp.Compare(a.PID, b.PID) })
	return all, true
}
