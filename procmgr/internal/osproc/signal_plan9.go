package osproc

import "strconv"

// A Signal is the number of a signal. Plan 9 has no numbers: it sends notes,
// which are text. Open fails there. This type only lets the package build.
type Signal int

// The signals that end a tree.
const (
	SIGTERM Signal = 15
	SIGINT  Signal = 2
	SIGKILL Signal = 9
)

func (s Signal) String() string { return "signal " + strconv.Itoa(int(s)) }
