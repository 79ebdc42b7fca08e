package proclocal

import (
	"slices"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// A Sandbox holds commands, and all that they start, to rules. Module
// github.com/toolproc/toolproc/sandbox has one. A Local calls it from several
// goroutines at once, and never closes it.
//
// It may have two more methods:
//
//	Environ() []string // variables of each command, as NAME=value
//	Wraps() bool       // the program that Argv has put first stays the leader
//
// No policy withholds a variable of Environ; one of a request takes its place. If
// Wraps is true, the first process only waits for the shell and passes on its exit
// code: [procmgr.Terminate] and [procmgr.Interrupt] go to all processes but that one.
// Only Linux has that.
type Sandbox interface {
	// Argv returns the program and the arguments that run argv: those of
	// Options.Shell, with the command behind them. It may return argv. After an
	// error nothing is started.
	Argv(argv []string) ([]string, error)
	// OnThread calls start once, which forks and execs, and returns its error. The
	// child inherits what the system restricts the thread to. The restrictions of a
	// thread must not reach others of the program. If OnThread cannot do that, it
	// returns an error and does not call start.
	OnThread(start func() error) error
	// Rules are what the sandbox enforces. They do not change.
	Rules() procmgr.SandboxRules
}

// A sandbox is a Sandbox, or none, with all its methods.
type sandbox struct {
	argv     func(argv []string) ([]string, error)
	onThread func(start func() error) error // nil for none
	environ  func() []string
	wraps    bool
}

func newSandbox(s Sandbox) (sandbox, *procmgr.SandboxRules) {
	own := sandbox{
		argv:    func(argv []string) ([]string, error) { return argv, nil },
		environ: func() []string { return nil },
	}
	if s == nil {
		return own, nil
	}
	own.onThread = s.OnThread
	own.argv = func(argv []string) ([]string, error) {
		wrapped, err := s.Argv(slices.Clone(argv))
		if err == nil && len(wrapped) == 0 {
			err = xerrors.Errorf("it names no program: %w", procmgr.ErrInvalid)
		}
		if err != nil {
			return nil, xerrors.Errorf("the sandbox cannot run the shell: %w", err)
		}
		return wrapped, nil
	}
	if s, ok := s.(interface{ Environ() []string }); ok {
		own.environ = s.Environ
	}
	if s, ok := s.(interface{ Wraps() bool }); ok {
		own.wraps = s.Wraps()
	}
	rules := s.Rules()
	return own, &rules
}
