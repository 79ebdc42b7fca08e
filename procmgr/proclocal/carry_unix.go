//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal

import (
	"context"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// NewKept is [New] for package prockeep. The Keep is told of everything that another
// program needs to go on with the processes.
func NewKept(opts *Options, keep carry.Keep) (*Local, error) {
	l := newLocal(opts, keep)
	err := l.open()
	if err == nil {
		err = l.began()
	}
	if err != nil {
		return nil, xerrors.Errorf("procmgr: new local: %w", err)
	}
	return l, nil
}

// Save stops a Local of [NewKept], [Restore] or [Recover], and returns its state, for
// package prockeep. If ctx ends first, it returns an error, and the Local goes on. It
// finishes a Kill and a start that are under way, and ends an input; waits are the
// caller's to end. Afterwards the Local can only be dropped. Restore of the state
// undoes Save, in the same program too.
func (l *Local) Save(ctx context.Context) (*carry.State, error) {
	s, err := l.save(ctx)
	return s, callerr.Wrap("save", "", err)
}

// Restore makes a Local of a state, for package prockeep. It takes over the files,
// also if it fails. It calls Began. Nothing else is told, and nothing is read or
// started, before run is called. The caller calls run once, or ends the program.
func Restore(opts *Options, keep carry.Keep, s *carry.State) (l *Local, run func(), err error) {
	l, run, err = restore(opts, keep, s)
	return l, run, callerr.Wrap("restore", "", err)
}

// Recover is [Restore] for a Local that died. Before it returns, it tells Started or
// Turned of every process that was not Started and may have run: as soon as anybody
// reaps what the dead program has left, the next Recover cannot find that out again.
// Until these are written, nothing must be reaped.
func Recover(opts *Options, keep carry.Keep, j *carry.Journal) (l *Local, run func(), err error) {
	l, run, err = recoverLocal(opts, keep, j)
	return l, run, callerr.Wrap("recover", "", err)
}
