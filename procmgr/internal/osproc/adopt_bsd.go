//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

// Adopts reports whether Adopt can follow a tree on this platform. A tree that
// it cannot follow is taken for one that has ended.
const Adopts = false

func adoptSession(a *Adoption, _ end, _ bool) *session {
	s := newSession(leader{pid: a.PID}, "", nil, nil, false)
	s.reaped = true
	s.empty.Store(true)
	return s
}

func (s *session) wasKilled() bool { return false }

// Peak returns the peak memory of another program's child, in bytes.
func Peak(bytes int64) int64 { return bytes }

// Escapees returns the members of an ended tree that live: none can be found.
func (t *Tree) Escapees() *Escaped { return &Escaped{tree: t} }

func endHeld(member) bool { return false }

func leaderOf([]member) Find { return Find{} }

// Sealed reports whether no member can leave the tree unseen: none is ever found.
func (l Lineage) Sealed() bool { return true }
