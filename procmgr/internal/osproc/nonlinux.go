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

// A member stands for all processes that are left of a tree.
type member struct{}

func closeMembers([]member) {}

// searches has nothing to share here: the system itself knows what is left of a tree.
type searches struct{}

func (*searches) open() error  { return nil }
func (*searches) close()       {}
func (*searches) blind() error { return nil }

// find tells which of some sessions have members.
func (*searches) find(sessions []*session) (found map[*session][]member, settled bool) {
	found = make(map[*session][]member)
	for _, s := range sessions {
		if left, _ := s.signal(0); left {
			found[s] = []member{{}}
		}
	}
	return found, true
}

// deliver sends a signal to all members of some sessions. The leader stands for
// whatever was left.
func (*searches) deliver(sessions []*session, sig Signal) (live map[*session][]int, settled bool, err error) {
	live = make(map[*session][]int)
	for _, s := range sessions {
		left, failed := s.signal(sig)
		if left {
			live[s] = []int{s.pid}
		}
		if failed != nil {
			err = xerrors.Errorf("pid %d cannot be signalled: %w", s.pid, failed)
		}
	}
	return live, true, err
}

func (s *session) lineage() Lineage { return Lineage{PID: s.pid, Cookie: s.cookie} }

// unsure reports false: what can leave a tree can never be found here, which the
// documentation says.
func (s *session) unsure() bool { return false }

// awaitExit returns true when the leader has exited, and false if the session is
// abandoned before.
func (s *session) awaitExit() bool {
	select {
	case <-s.exited:
		return true
	case <-s.done:
		return false
	}
}

// poll is how often the system is asked at least about an end that it does not tell.
const poll = 100 * time.Millisecond

// await asks until nothing is left, until a time that is not zero, or until the session
// is abandoned.
func (s *session) await(_ []member, until time.Time) {
	for pause := time.Millisecond; ; pause = min(2*pause, poll) {
		if left, _ := s.signal(0); !left {
			return
		}
		if !until.IsZero() {
			if pause = min(pause, time.Until(until)); pause <= 0 {
				return
			}
		}
		select {
		case <-s.done:
			return
		case <-time.After(pause):
		}
	}
}

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
