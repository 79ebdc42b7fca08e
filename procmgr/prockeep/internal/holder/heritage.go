package holder

import "os"

// A Heritage is what a holder has for a keeper that it has just started.
type Heritage struct {
	// Generation counts the keepers of a holder, from 0 on.
	Generation int
	// State is that of the keeper before this one, at its beginning; nil if that
	// one died, or if there was none.
	State *os.File
	// Crash reports that the keeper before this one has died.
	Crash bool
	// Fallback reports that this program is the one of before the upgrade: the new
	// one could not take the state over.
	Fallback bool
	// Ending reports that the keeper before this one was about to end for good. This
	// one goes on with that, and exits with 0.
	Ending bool
	Held   []Held
	Strays []Stray
	// Unsure reports that Strays may lack a child.
	Unsure bool
	// Trapped are the Strays that the holder has killed before their first
	// instruction.
	Trapped []int
}

// Held is a descriptor that the holder has duplicated for the keeper.
type Held struct {
	Seq  uint64
	Role string
	FD   int // the caller's
}

// A Stray is a child of the holder that no keeper has awaited: it has ended, by a
// signal if Signal is not 0, or it may be the leader of a session.
type Stray struct {
	PID, Signal int
	Ended       bool
}
