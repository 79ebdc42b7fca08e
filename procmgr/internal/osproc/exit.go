package osproc

import (
	"time"
)

// An Exit is how a leader ended.
type Exit struct {
	code   int
	Signal Signal // 0: it exited by itself
	Usage  *Usage // nil where the system does not tell
	Lost   bool   // something else reaped it
	OOM    bool   // the out-of-memory killer is the likely reason
}

// Usage is what the leader, and the children that it waited for, have used.
type Usage struct {
	User, System time.Duration // CPU time
	MaxRSS       int64         // bytes; 0 where the system does not tell
}

// killed reports whether SIGKILL ended the leader, or a child of it whose death
// it passed on as its own exit code.
func (e Exit) killed() bool {
	return !e.Lost && (e.Signal == SIGKILL || e.Signal == 0 && e.code == 128+int(SIGKILL))
}

// Code is what a shell would say: 128+n where signal n ended it. It is nil
// where nobody knows.
func (e Exit) Code() *int {
	if e.Lost {
		return nil
	}
	code := e.code
	if e.Signal != 0 {
		code = 128 + int(e.Signal)
	}
	return &code
}

// SignalName is such as "SIGKILL"; "" where no signal ended it.
func (e Exit) SignalName() string {
	if e.Signal == 0 {
		return ""
	}
	return signalName(e.Signal)
}
