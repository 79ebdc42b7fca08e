//go:build !linux

package procmgr

import (
	"log/slog"

	"golang.org/x/xerrors"
)

// cgroups exist on Linux alone.
type cgroups struct{}

func openCgroups(string, *slog.Logger) (*cgroups, error) {
	return nil, xerrors.Errorf("cgroups exist on Linux only, leave Options.Cgroup empty: %w", ErrInvalid)
}

func (c *cgroups) close() {}

type cgroup struct{}

func (g *cgroup) remove() {}

func (l *Local) place() (*cgroup, error) { return nil, nil }
