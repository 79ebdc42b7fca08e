package procmgr

import "time"

// A Member is one process of the system that belongs to a [Process].
type Member struct {
	PID int `json:"pid"`
	// Parent is the pid of its parent, which need not be a member: that of a member
	// whose own parent has ended is another process of the machine.
	Parent int `json:"parent,omitempty"`
	// Name is the name of its program as the system tells it, which the program can
	// change: on Linux at most 15 bytes, as valid UTF-8.
	Name string `json:"name,omitempty"`
	// CPU is the processor time that the member has used so far, without its
	// children. In JSON it is in nanoseconds.
	CPU time.Duration `json:"cpu_ns,omitempty"`
	// Memory is how much of its memory is in RAM now, in bytes. What several members
	// share counts for each of them.
	Memory int64 `json:"memory,omitempty"`
}
