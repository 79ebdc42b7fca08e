package prochttp

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
)

// setBase adds what the command starts from to a body. If the environment has a
// sum, the sum goes in its place: the handler has most often seen it before.
func (b *baseFields) setBase(base *baseenv.Base) {
	if base != nil && base.Sum != "" {
		b.BaseSum, b.BaseDir = base.Sum, &base.Dir
		return
	}
	b.setWholeBase(base)
}

// setWholeBase is setBase for a handler that does not know the sum.
func (b *baseFields) setWholeBase(base *baseenv.Base) {
	if base != nil {
		base = base.UTF8()
		b.BaseEnv, b.BaseWithheld, b.BaseSecrets, b.BaseSum, b.BaseDir = base.Env, base.Withheld, base.Secrets, "", &base.Dir
	}
}

// base returns what the command of a start starts from, or nil for the handler's
// own. If it has a sum, it has nothing else but the directory.
func (r *request) base(b *baseFields) (*baseenv.Base, error) {
	if b.BaseDir == nil {
		if b.hasWholeBase() || b.BaseSum != "" {
			return nil, xerrors.Errorf("base_env or base_sum is there without base_dir: %w", procmgr.ErrInvalid)
		}
		return nil, nil
	}
	switch {
	case r.h.keeper == nil:
		return nil, xerrors.Errorf("base_env, base_sum and base_dir are for the socket of a keeper alone: %w", procmgr.ErrInvalid)
	case b.BaseSum != "" && b.hasWholeBase():
		return nil, xerrors.Errorf("base_sum is there, and base_env, base_withheld or base_secrets too: %w", procmgr.ErrInvalid)
	case *b.BaseDir != "" && !path.IsAbs(*b.BaseDir): // a keeper runs on Unix alone
		return nil, xerrors.Errorf("base_dir is not absolute: %w", procmgr.ErrInvalid)
	case slices.ContainsFunc(append(b.BaseEnv, *b.BaseDir), func(s string) bool { return strings.ContainsRune(s, 0) }):
		return nil, xerrors.Errorf("base_env or base_dir has a NUL byte: %w", procmgr.ErrInvalid)
	}
	return &baseenv.Base{Env: b.BaseEnv, Withheld: b.BaseWithheld, Secrets: b.BaseSecrets, Sum: b.BaseSum, Dir: *b.BaseDir}, nil
}

// from returns the request's Manager for a start from a base; nil is the handler's own.
func (r *request) from(base *baseenv.Base) procmgr.Manager {
	switch {
	case base == nil:
		return r.manager
	case r.chat == "":
		return r.h.keeper.From(base)
	}
	return r.h.keeper.From(base).Chat(r.chat)
}

func (b *baseFields) hasWholeBase() bool {
	return b.BaseEnv != nil || b.BaseWithheld != nil || b.BaseSecrets != nil
}

// added returns a body, a JSON object that is not empty, with these fields.
func (b *baseFields) added(body []byte) []byte {
	if b.BaseDir == nil {
		return body
	}
	fields, err := encode(b)
	if err != nil {
		return body // strings can always be written
	}
	return append(append(bytes.TrimSuffix(bytes.TrimSpace(fields), []byte{'}'}), ','), body[1:]...)
}
