package procmgr

import "syscall"

// An exit is how a leader ended.
type exit struct {
	code   int
	signal syscall.Signal // 0: it exited by itself
	usage  *Usage
	lost   bool // something else reaped it
	oom    bool // the out-of-memory killer is the likely reason
}

// killed reports whether SIGKILL ended the leader, or a child of it whose death
// it passed on as its own exit code.
func (e exit) killed() bool {
	return !e.lost && (e.signal == syscall.SIGKILL || e.signal == 0 && e.code == 128+int(syscall.SIGKILL))
}

// exitCode is what a shell would say: 128+n where signal n ended it. It is nil
// where nobody knows.
func (e exit) exitCode() *int {
	if e.lost {
		return nil
	}
	code := e.code
	if e.signal != 0 {
		code = 128 + int(e.signal)
	}
	return &code
}

func (e exit) signalName() string {
	if e.signal == 0 {
		return ""
	}
	return signalName(e.signal)
}

// cause tells why it ended, where nobody had asked for it.
func (e exit) cause() Cause {
	switch {
	case e.lost:
		return CauseLost
	case e.signal != 0:
		return CauseSignal
	}
	return CauseExit
}
