package proclocal

import (
	"slices"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// A Sandbox holds commands, and all that they start, to rules. Module
// github.com/toolproc/toolproc/contrib/sandbox has one. A Local calls it from several
// goroutines at once, and never closes it.
//
// It may have three more methods:
//
//	Environ() []string // variables of each command, as NAME=value
//	Wraps() bool       // the program that Argv has put first stays the leader
//	Wrap(dir string, argv, environ []string) (wrapped, outer []string, err error)
//
// Wrap is called in place of Argv. It gets the directory and the environment of the
// command too, and returns the environment of the program that it has put first: a
// program outside of the sandbox must not load what LD_PRELOAD of a command names.
//
// No policy withholds a variable of Environ; a variable of a request takes its place.
// If Wraps is true, the first process only waits for the shell and passes on its exit
// code: [procmgr.Terminate] and [procmgr.Interrupt] go to all processes but that one.
// Its own stdin is the null device; it gets the shell's stdin as descriptor 3, and
// closes that when the shell has it. Only Linux has that.
type Sandbox interface {
	// Argv returns the program and the arguments that run argv, which is Options.Shell
	// followed by the command. It may return argv. After an error nothing is started.
	Argv(argv []string) ([]string, error)
	// OnThread calls start once, which forks and execs, and returns its error. The
	// child inherits what the system restricts the thread to. The restrictions of a
	// thread must not reach others of the program. If OnThread cannot do that, it
	// returns an error and does not call start.
	OnThread(start func() error) error
	// Rules are what the sandbox enforces. They do not change.
	Rules() procmgr.SandboxRules
}

// hold makes s hold a command. s may be nil.
func hold(c *osproc.Command, s Sandbox) (err error) {
	if s == nil {
		return nil
	}
	argv := slices.Clone(c.Argv)
	if w, ok := s.(interface {
		Wrap(dir string, argv, environ []string) (wrapped, outer []string, err error)
	}); ok {
		c.Argv, c.Env, err = w.Wrap(c.Dir, argv, slices.Clone(c.Env))
	} else {
		c.Argv, err = s.Argv(argv)
	}
	if err == nil && len(c.Argv) == 0 {
		err = xerrors.Errorf("it names no program: %w", procmgr.ErrInvalid)
	}
	if err != nil {
		return xerrors.Errorf("the sandbox cannot run the shell: %w", err)
	}
	c.OnThread = s.OnThread
	if w, ok := s.(interface{ Wraps() bool }); ok {
		c.Wrapped = w.Wraps()
	}
	return nil
}

// variables returns the Environ of s, which may be nil.
func variables(s Sandbox) []string {
	if e, ok := s.(interface{ Environ() []string }); ok {
		return e.Environ()
	}
	return nil
}
