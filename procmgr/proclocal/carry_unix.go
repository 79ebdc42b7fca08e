//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal

import (
	"context"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// Package prockeep cannot see inside a Local, and must not become a part of this
// package.
var _ = carry.Offer(carry.Ways{
	New: func(opts any, keep carry.Keep) (any, error) { return newKeptLocal(opts.(*Options), keep) },
	Save: func(ctx context.Context, local any) (*carry.State, error) {
		s, err := local.(*Local).save(ctx)
		return s, callerr.Wrap("save", "", err)
	},
	Restore: func(opts any, keep carry.Keep, s *carry.State) (any, func(), error) {
		l, run, err := restore(opts.(*Options), keep, s)
		return l, run, callerr.Wrap("restore", "", err)
	},
	Recover: func(opts any, keep carry.Keep, j *carry.Journal) (any, func(), error) {
		l, run, err := recoverLocal(opts.(*Options), keep, j)
		return l, run, callerr.Wrap("recover", "", err)
	},
})

// newKeptLocal is New with a Keep.
func newKeptLocal(opts *Options, keep carry.Keep) (*Local, error) {
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
