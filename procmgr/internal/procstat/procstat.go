// Package procstat reads what Linux says of a process in /proc/PID/stat, see
// proc(5). A process that has ended is there until it is reaped. Only until then its
// number names it.
package procstat

// A Process has the facts that the system tells about a process.
type Process struct {
	State  byte // 'Z' and 'X' have ended, at least their first thread
	Parent int  // the number of its parent; 0 if that is not to be seen
	Group  int  // the number of its process group's leader
	// Terminal is the device number of its controlling terminal; 0 if it has none.
	Terminal uint64
	// Environ has the addresses at which its environment begins and ends. They are
	// zero until an exec has written that, when the process exits, and if this
	// program may not read it. They are equal if the environment is empty.
	Environ [2]uint64
	// Exiting says that it is about to end, though its State may not say so yet: its
	// memory may be gone already.
	Exiting bool
}

// Ended reports whether the first thread of the process has ended.
func (p Process) Ended() bool { return p.State == 'Z' || p.State == 'X' }
