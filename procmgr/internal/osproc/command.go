package osproc

import (
	"time"

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
	// Keeper is told of the tree; nil for nobody.
	Keeper Keeper
}

// onThread calls start by OnThread.
func (c *Command) onThread(start func() error) error {
	if c.OnThread == nil {
		return start()
	}
	var began bool
	var failed error
	err := c.OnThread(func() error {
		began, failed = true, start()
		return failed
	})
	switch {
	case began:
		return failed // what else there is to say comes too late
	case err == nil:
		return xerrors.Errorf("the sandbox has started nothing: %w", sentinel.ErrInvalid)
	}
	return &unstarted{err}
}

// unstarted is the error of a sandbox that has started nothing.
type unstarted struct{ error }

func (e *unstarted) Unwrap() error { return e.error }

// A Keeper is told of a tree, so that it can be adopted when this program has
// gone. No other call of the tree is made meanwhile.
type Keeper interface {
	// Starting is called before a fork. After an error nothing is forked. It is
	// called again if another program of the same name is tried.
	Starting(b Birth) error
	// Stands is called when the leader stands before its first instruction and
	// dies there with this program. If the system cannot hold it, Stands is not
	// called.
	Stands(l Lineage)
	// Started is called after the fork, and after Stands if that is called.
	Started(b Birth)
	// Goes is called before the leader begins, or as soon as it is known if the
	// system cannot hold it: then it comes before Started.
	Goes(l Lineage)
	// Exited is called when the leader has exited, before it is reaped.
	Exited(end Exit, at time.Time)
}

// A Birth has the facts about a tree that a Keeper has to know.
type Birth struct {
	Lineage
	// Output and Input are this program's ends of the leader's stdout and stdin.
	// Of a terminal, Output is the end for both. Input is negative if there is
	// none. They are valid during the call of the Keeper.
	Output, Input int
	Terminal      bool
}

// A Lineage tells the members of a tree from all other processes.
type Lineage struct {
	PID int `json:"pid,omitempty"` // of the leader; 0 before the fork
	// Start is when the leader began, as in procstat.Process; 0 if nobody knows.
	// Only a tree with a Keeper has it.
	Start  uint64 `json:"start,omitempty"`
	Cookie string `json:"cookie,omitempty"`
	Mark   uint64 `json:"mark,omitempty"`  // 0 for none
	Whole  bool   `json:"whole,omitempty"` // every member has the mark
	Cgroup string `json:"cgroup,omitempty"`
	// Wrapped is as in Command.
	Wrapped bool `json:"wrapped,omitempty"`
}

// A Sink takes the output of a tree. One goroutine at a time calls it. A Sink that
// is also a Tally is told of each read.
type Sink interface {
	// Add takes the next bytes. They are valid only during the call. While Add
	// blocks, nobody reads the output of the tree.
	Add(p []byte)
	// End is called once, after the last Add.
	End()
}

// A Tally is told how many bytes are on their way to a Sink.
type Tally interface {
	// Reading is called before a read of at most so many bytes.
	Reading(most int)
	// Took is called when that read has ended, with so many bytes.
	Took(most, n int)
}
