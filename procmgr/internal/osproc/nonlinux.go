//go:build !linux

package osproc

import (
	"context"
	"errors"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/prompt"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// These report whether Members and Listening can tell anything on this platform.
const (
	TellsMembers = false
	TellsPorts   = false
)

// Members returns the members of a tree.
func (s *System) Members(*Tree) (all []Use, looked bool) { return nil, false }

// Listening returns the sockets on which the members of a tree listen.
func (s *System) Listening(*Tree) (all []Listen, looked bool) { return nil, false }

// Waiting reports whether a member waits for input on the tree's stdin.
func (t *Tree) Waiting() (w prompt.Found, ok bool) { return w, false }

func hasSlices() bool { return false }

// cgroups exist on Linux only.
type cgroups struct{}

func openCgroups(*Config) (*cgroups, error) {
	return nil, xerrors.Errorf("cgroups exist on Linux only, leave Options.Cgroup empty: %w", sentinel.ErrInvalid)
}

func (c *cgroups) close() {}

// EndSurvivors does nothing: nothing proves here that a process is a member of a tree
// whose System is dead. The error is [errors.ErrUnsupported], unless there is no tree.
func EndSurvivors(_ context.Context, dead []Lineage, _ time.Duration) error {
	if len(dead) == 0 {
		return nil
	}
	return errors.ErrUnsupported
}
