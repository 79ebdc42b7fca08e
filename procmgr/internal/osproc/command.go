package osproc

import (
	"crypto/rand"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// A Command is a command to run, and how to run it.
type Command struct {
	// Argv has the program, which is looked up on PATH, and its arguments.
	Argv []string
	// Dir is the directory to run in, an absolute path.
	Dir string
	// Env is the whole environment. Start adds only the cookie, to the array of
	// Env if that has room.
	Env []string
	// Stdin is the leader's stdin, and Size the size of its terminal.
	Stdin Stdin
	Size  Size
	// Output gets everything that the tree prints: stdout and stderr together.
	Output Sink
	// OnThread calls start once, on a thread whose restrictions the leader is to
	// have; nil starts it on any thread. An error of start is the one it returns.
	OnThread func(start func() error) error
	// Wrapped says that the leader is another program in front of the shell, which
	// only waits for it and dies of a signal before it: SIGTERM and SIGINT go to all
	// other members, as long as there is one. It gets the shell's stdin as descriptor 3.
	// Linux alone.
	Wrapped bool
	// Claim is called before the fork; after an error nothing is forked. It may be nil.
	Claim func(Lineage) error
}

// onThread calls start by OnThread. It reports whether start was called. If it was, err
// is start's own: a refusal by OnThread after that comes too late.
func (c *Command) onThread(start func() error) (began bool, err error) {
	if c.OnThread == nil {
		return true, start()
	}
	refused := c.OnThread(func() error {
		began, err = true, start()
		return err
	})
	if !began {
		err = refused
		if err == nil {
			err = xerrors.Errorf("the sandbox has started nothing: %w", sentinel.ErrInvalid)
		}
	}
	return began, err
}

// A Lineage is the evidence that tells the members of a tree from all other
// processes, also in another program.
type Lineage struct {
	Boot   string `json:"boot,omitempty"`   // the ID of the system's boot
	Cookie string `json:"cookie,omitempty"` // the name of an environment variable
	Mark   uint64 `json:"mark,omitempty"`   // 0 for none
	Cgroup string `json:"cgroup,omitempty"` // a directory
}

// A Sink takes the output of a tree. One goroutine at a time calls it.
type Sink interface {
	// Add takes the next bytes. They are valid only during the call. While Add blocks,
	// the tree's output is not read.
	Add(p []byte)
	// End is called once, after the last Add.
	End()
}

// A Stdin says which stdin a leader gets.
type Stdin int

const (
	StdinEmpty    Stdin = iota
	StdinPipe           // Tree.Input writes to it
	StdinTerminal       // Tree.Input writes to it; stdout and stderr are the same terminal
)

// A Size is the size of a terminal in characters.
type Size struct{ Cols, Rows int }

// ErrStdinClosed is the error of a write to a stdin that has no reader.
var ErrStdinClosed = xerrors.Errorf("its stdin is closed: %w", sentinel.ErrNotRunning)

// A TerminalMode says what a terminal does with the bytes that are written to
// it.
type TerminalMode struct {
	Echo  bool // it shows them
	Lines bool // it collects them into lines, and knows the keys of a line
	EOF   byte // then the key that ends the input
}

// CookiePrefix begins the name of every cookie, in this program and in others.
const CookiePrefix = "TOOLPROC_C_"

// newCookie returns a new name for the environment variable that every descendant
// of one command inherits: 128 random bits.
func newCookie() string { return CookiePrefix + rand.Text()[:26] }

// An Exit tells how a leader ended.
type Exit struct {
	Status int    // if Signal is 0
	Signal Signal // 0 if the leader exited by itself
	Lost   bool   // another part of the program reaped the leader
	OOM    bool   // the out-of-memory killer has ended a member; only a cgroup tells
}

// Code returns the exit code as a shell would tell it: 128+n if signal n ended
// the leader. It is nil if it was lost.
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
