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

// TellsPorts reports whether Listening can tell anything on this platform.
const TellsPorts = false

// Listening returns the sockets on which the members of a tree listen.
func (s *System) Listening(*Tree) (all []Listen, looked bool) { return nil, false }

// Waiting reports whether a member waits for input on the tree's stdin.
func (t *Tree) Waiting() (w prompt.Found, ok bool) { return w, false }

// A member stands for all processes that are left of a tree.
type member struct{}

func closeMembers([]member) {}

// searches has nothing to share here: the system itself knows what is left of a tree.
type searches struct{}

func (*searches) open() error  { return nil }
func (*searches) close()       {}
func (*searches) blind() error { return nil }

// find tells whether a session has members.
func (*searches) find(s *session) (members []member, settled bool) {
	if left, _ := s.signal(0); left {
		members = []member{{}}
	}
	return members, true
}

// deliver sends a signal to all members of some trees. The leader stands for whatever
// was left.
func (*searches) deliver(trees []*Tree, sig Signal) (d Delivery, err error) {
	d = Delivery{Live: make(map[*Tree][]int), Settled: true}
	for _, t := range trees {
		left, failed := t.session.signal(sig)
		if left {
			d.Live[t] = []int{t.PID()}
		}
		if failed != nil {
			err = xerrors.Errorf("pid %d cannot be signalled: %w", t.PID(), failed)
		}
	}
	return d, err
}

func (s *session) lineage() Lineage { return Lineage{Cookie: s.cookie} }

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
