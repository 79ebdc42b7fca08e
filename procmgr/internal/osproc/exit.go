package osproc

import (
	"time"
)

// An Exit tells how a leader ended.
type Exit struct {
	Status int    `json:"status,omitempty"` // if Signal is 0
	Signal Signal `json:"signal,omitempty"` // 0 if the leader exited by itself
	Usage  *Usage `json:"usage,omitempty"`  // nil if the system does not tell
	Lost   bool   `json:"lost,omitempty"`   // another part of the program reaped the leader
	OOM    bool   `json:"oom,omitempty"`    // the out-of-memory killer is the likely reason
}

// Usage counts the resources that the leader used, together with the children
// for which it waited.
type Usage struct {
	User, System time.Duration // CPU time
	MaxRSS       int64         // bytes; 0 if the system does not tell
}

// killed reports whether SIGKILL ended the leader, or a child whose death the
// leader passed on as its own exit code.
func (e Exit) killed() bool {
	return !e.Lost && (e.Signal == SIGKILL || e.Signal == 0 && e.Status == 128+int(SIGKILL))
}

// Code returns the exit code as a shell would tell it: 128+n if signal n ended
// the leader. It is nil if nobody knows.
func (e Exit) Code() *int {
	if e.Lost {
		return nil
	}
	code := e.Status
	if e.Signal != 0 {
		code = 128 + int(e.Signal)
	}
	return &code
}

// SignalName returns a name such as "SIGKILL", or "" if no signal ended the
// leader.
func (e Exit) SignalName() string {
	if e.Signal == 0 {
		return ""
	}
	return signalName(e.Signal)
}
