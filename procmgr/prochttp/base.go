package prochttp

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
)

// setBase adds what the command starts from to a body. JSON cannot carry a
// variable that is not UTF-8, so that one counts as withheld.
func (b *startBody) setBase(base *baseenv.Base) {
	if base == nil {
		return
	}
	b.BaseEnv, b.BaseWithheld, b.BaseDir = base.Env, base.Withheld, &base.Dir
	if !slices.ContainsFunc(base.Env, notUTF8) {
		return
	}
	b.BaseEnv, b.BaseWithheld = nil, slices.Clone(base.Withheld)
	for _, kv := range base.Env {
		if !notUTF8(kv) {
			b.BaseEnv = append(b.BaseEnv, kv)
		} else if name, _, _ := strings.Cut(kv, "="); !notUTF8(name) {
			b.BaseWithheld = append(b.BaseWithheld, name)
		}
	}
}

func notUTF8(s string) bool { return !utf8.ValidString(s) }

// withBase returns the context of a start, with what its command starts from.
func (r *request) withBase(b startBody) (context.Context, error) {
	ctx := r.Context()
	if b.BaseDir == nil {
		if b.BaseEnv != nil || b.BaseWithheld != nil {
			return nil, xerrors.Errorf("base_env is there without base_dir: %w", procmgr.ErrInvalid)
		}
		return ctx, nil
	}
	switch {
	case !baseenv.Accepted(r.h.opts.Context):
		return nil, xerrors.Errorf("base_env and base_dir are for the socket of a keeper alone: %w", procmgr.ErrInvalid)
	case *b.BaseDir != "" && !filepath.IsAbs(*b.BaseDir):
		return nil, xerrors.Errorf("base_dir is not absolute: %w", procmgr.ErrInvalid)
	case slices.ContainsFunc(append(b.BaseEnv, *b.BaseDir), func(s string) bool { return strings.ContainsRune(s, 0) }):
		return nil, xerrors.Errorf("base_env or base_dir has a NUL byte: %w", procmgr.ErrInvalid)
	}
	return baseenv.With(ctx, &baseenv.Base{Env: b.BaseEnv, Withheld: b.BaseWithheld, Dir: *b.BaseDir}), nil
}
