package proclocal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// cannotSettle says why nobody can tell if a process has members.
const cannotSettle = "processes are started faster than they can be looked at, or none can be looked at"

// A survivor is a process that a kill has not ended.
type survivor struct {
	id   string
	pids []int // live members
	why  string
}

func (s survivor) String() string {
	if len(s.pids) == 0 {
		return fmt.Sprintf("process %s: %s", s.id, s.why)
	}
	pids := make([]string, len(s.pids))
	for i, pid := range s.pids {
		pids[i] = fmt.Sprint(pid)
	}
	text := fmt.Sprintf("process %s: pid %s", s.id, strings.Join(pids, ", "))
	if s.why != "" {
		text += " (" + s.why + ")"
	}
	return text
}

// unsure returns a survivor for each of some processes of which a member may have
// escaped unseen.
func (l *Local) unsure(rs []*record) (left []survivor) {
	for _, r := range rs {
		switch {
		case !r.tree.Unsure():
		case l.system.Blind() != nil:
			left = append(left, survivor{id: r.id, why: cannotSettle})
		default:
			left = append(left, survivor{id: r.id, why: "a daemon of it may have escaped before it was marked; Linux 6.12 or Options.Cgroup prevents that"})
		}
	}
	return left
}

// kill repeats SIGKILL until nothing is left of some processes, or until its
// patience is over. It returns the survivors.
func (l *Local) kill(ctx context.Context, rs []*record) ([]survivor, error) {
	patient := patience{began: time.Now()}
	var err error
	for pause := killSoon; err == nil && len(rs) > 0; pause = 2 * killSoon {
		sent, _ := l.system.Signal(treesOf(rs), osproc.SIGKILL) // a process that cannot be signalled is named below
		if rs, err = awaitExits(ctx, rs, pause); err == nil && len(rs) > 0 && patient.over() {
			return l.survivors(rs, sent), nil
		}
	}
	return nil, err
}

// survivors says of some processes that have not exited in time why they have
// not. A process of which nothing lives is about to exit.
func (l *Local) survivors(rs []*record, sent osproc.Delivery) (left []survivor) {
	for _, r := range rs {
		s := survivor{id: r.id, pids: sent.Live[r.tree]}
		switch {
		case r.exited():
			continue
		case len(s.pids) > 0:
		case !sent.Settled:
			s.why = cannotSettle
		case r.tree.Held():
			s.why = "something that cannot be found still holds its output"
		default:
			s.why = "nothing of it was found alive, but its end is not told yet"
		}
		left = append(left, s)
	}
	return left
}

// awaitExits waits until all of some processes have exited, or until a while is
// over. It returns those that have not exited.
func awaitExits(ctx context.Context, rs []*record, d time.Duration) ([]*record, error) {
	over := time.NewTimer(d)
	defer over.Stop()
	for i := 0; i < len(rs); {
		r := rs[i]
		state, changed := r.stateAndChange()
		if state == procmgr.Exited {
			i++
			continue
		}
		select {
		case <-changed:
		case <-over.C:
			return slices.DeleteFunc(slices.Clone(rs[i:]), (*record).exited), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}
