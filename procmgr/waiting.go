package procmgr

import "time"

// A Waiting says that a program of a process waits for input. The system has said so:
// nothing is concluded from silence or from output. If a Manager cannot tell, there is
// no Waiting.
//
// A proclocal.Local can tell on Linux for amd64 and arm64, and as long as it may trace
// the program, see ptrace(2). It may trace its own commands, but not a program of
// another user, nor one with a set-user-ID bit such as su, unless it is root itself. If
// kernel.yama.ptrace_scope is 1, it may not trace a member whose parent has ended, and
// with 2 or 3 none. Neither can be told of a program that may wait for something else as
// well: for a socket, for a child, or for another of its threads.
type Waiting struct {
	// Since is when that was seen first, less than a second after it began in most
	// cases.
	Since time.Time `json:"since"`
	// PID is the number of the program: of the leader, or of another member.
	PID int `json:"pid"`
	// Program is the name by which the system knows it, such as "bash", in at most
	// 64 bytes of printable text. A program can choose its name: it proves nothing.
	Program string `json:"program,omitempty"`
	// Secret reports that the echo of the terminal is off and that it collects lines,
	// as programs want it that ask for a password.
	Secret bool `json:"secret,omitempty"`
}
