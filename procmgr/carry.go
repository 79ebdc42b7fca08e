package procmgr

import (
	"context"
	"errors"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// Package prockeep cannot see inside a Local, and must not become a part of this
// one.
var _ = carry.Offer(carry.Ways{
	New: func(opts any, keep carry.Keep) (any, error) { return newKeptLocal(opts.(*Options), keep) },
	Save: func(ctx context.Context, local any) (*carry.State, error) {
		return nil, errors.ErrUnsupported
	},
	Restore: func(opts any, keep carry.Keep, s *carry.State) (any, func(), error) {
		return nil, nil, errors.ErrUnsupported
	},
	Recover: func(opts any, keep carry.Keep, j *carry.Journal) (any, func(), error) {
		return nil, nil, errors.ErrUnsupported
	},
})

// newKeptLocal is NewLocal with a Keep.
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
