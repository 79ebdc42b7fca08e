package prochttp

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
)

// setBase adds what the command starts from to a body.
func (b *startBody) setBase(base *baseenv.Base) {
	if base != nil {
		base = base.UTF8()
		b.BaseEnv, b.BaseWithheld, b.BaseDir = base.Env, base.Withheld, &base.Dir
	}
}

// base returns what the command of a start starts from, or nil for the handler's
// own.
func (r *request) base(b *startBody) (*baseenv.Base, error) {
	if b.BaseDir == nil {
		if b.BaseEnv != nil || b.BaseWithheld != nil {
			return nil, xerrors.Errorf("base_env is there without base_dir: %w", procmgr.ErrInvalid)
		}
		return nil, nil
	}
	switch {
	case !baseenv.Accepted(r.h.opts.Context):
		return nil, xerrors.Errorf("base_env and base_dir are for the socket of a keeper alone: %w", procmgr.ErrInvalid)
	case *b.BaseDir != "" && !filepath.IsAbs(*b.BaseDir):
		return nil, xerrors.Errorf("base_dir is not absolute: %w", procmgr.ErrInvalid)
	case slices.ContainsFunc(append(b.BaseEnv, *b.BaseDir), func(s string) bool { return strings.ContainsRune(s, 0) }):
		return nil, xerrors.Errorf("base_env or base_dir has a NUL byte: %w", procmgr.ErrInvalid)
	}
	return &baseenv.Base{Env: b.BaseEnv, Withheld: b.BaseWithheld, Dir: *b.BaseDir}, nil
}
