package osproc

import (
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
	// Claim is called before a fork; after an error nothing is forked. It is called
	// again if another program of the same name is tried. Started is called once after
	// the fork. Either may be nil.
	Claim   func(Lineage) error
	Started func(Lineage)
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

// A Lineage tells the members of a tree from all other processes.
type Lineage struct {
	PID int `json:"pid,omitempty"` // of the leader; 0 before the fork
	// Start is when the leader began, as in procstat.Process; 0 if nobody knows.
	// Only a tree whose Command has Started has it.
	Start  uint64 `json:"start,omitempty"`
	Boot   string `json:"boot,omitempty"` // of the machine, as BootID returns it
	Cookie string `json:"cookie,omitempty"`
	Mark   uint64 `json:"mark,omitempty"`  // 0 for none
	Whole  bool   `json:"whole,omitempty"` // every member has the mark
	Cgroup string `json:"cgroup,omitempty"`
	// Wrapped is as in Command.
	Wrapped bool `json:"wrapped,omitempty"`
}

// A Sink takes the output of a tree. One goroutine at a time calls it.
type Sink interface {
	// Add takes the next bytes. They are valid only during the call. While Add
	// blocks, nobody reads the output of the tree.
	Add(p []byte)
	// End is called once, after the last Add.
	End()
}
