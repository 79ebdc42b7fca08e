//go:build !linux

package osproc

import (
	"os"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// cgroups exist on Linux only.
type cgroups struct{}

func openCgroups(*Config) (*cgroups, error) {
	return nil, xerrors.Errorf("cgroups exist on Linux only, leave Options.Cgroup empty: %w", sentinel.ErrInvalid)
}

func (c *cgroups) own() (dir string, lock *os.File) { return "", nil }

func (c *cgroups) add() (*cgroup, error) { return nil, nil }

func (c *cgroups) close() {}

func (c *cgroups) leave() {}

type cgroup struct{}

func (g *cgroup) remove() {}
