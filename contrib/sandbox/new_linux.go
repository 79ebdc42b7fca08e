package sandbox

import (
	"os"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

func open(p Policy) (*Box, error) {
	resolved, err := resolve(p)
	if err != nil {
		return nil, err
	}
	b := &Box{policy: resolved, rules: procmgr.SandboxRules{
		Write: resolved.Write, Protect: resolved.Protect, Hide: resolved.Hide,
		NoNetwork:     resolved.Network == NoNetwork,
		NoUnixSockets: resolved.Level == Boundary && !resolved.UnixSockets,
	}}
	if b.temp, err = tempDir(); err != nil {
		return nil, err
	}
	b.tmpdir = b.temp
	switch p.Level {
	case Accidents:
		b.level, err = newAccidents(b)
	case Boundary:
		b.level, err = newBoundary(b)
	default:
		err = xerrors.Errorf("there is no Level %d: %w", p.Level, procmgr.ErrInvalid)
	}
	if err != nil {
		_ = os.RemoveAll(b.temp) // it is empty
		return nil, err
	}
	return b, nil
}
