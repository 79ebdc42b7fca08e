//go:build !linux

package osproc

import (
	"log/slog"
	"os"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// cgroups exist on Linux only.
type cgroups struct{}

func openCgroups(string, *slog.Logger) (*cgroups, error) {
	return nil, xerrors.Errorf("cgroups exist on Linux only, leave Options.Cgroup empty: %w", sentinel.ErrInvalid)
}

// Cgroups returns nothing.
func (s *System) Cgroups() (dir string, lock *os.File) { return "", nil }

func (c *cgroups) add() (*cgroup, error) { return nil, nil }

func (c *cgroups) close() {}

type cgroup struct{}

func (g *cgroup) remove() {}
