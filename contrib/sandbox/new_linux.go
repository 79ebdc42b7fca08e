package sandbox

import (
	"errors"
	"fmt"
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
		NoLoopback:    resolved.Network == NoNetwork && resolved.Level == Accidents,
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

// A lack is a part of a policy that cannot be enforced on this machine.
type lack struct {
	part, why string
}

func (l *lack) Error() string {
	return fmt.Sprintf("%s cannot be enforced on this machine: %s", l.part, l.why)
}

func (l *lack) Is(target error) bool { return target == errors.ErrUnsupported }
