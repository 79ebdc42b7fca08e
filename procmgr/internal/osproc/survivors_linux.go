package osproc

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

const (
	// survivorPause is how long EndSurvivors waits before it looks again.
	survivorPause = 10 * time.Millisecond
	// killSurvivors is how long it repeats SIGKILL.
	killSurvivors = 5 * time.Second
	// emptySearches in a row show that nothing is left, even if none of them settles
	// because other programs start processes all the time.
	emptySearches = 3
)

// EndSurvivors ends the remains of trees whose System died with its program: SIGTERM to
// every member, and SIGKILL to members still alive after grace. It returns once nothing
// is left, or with an error that names the survivors. It signals a process only if the
// mark, the slice, the cookie or the cgroup proves that it is a member. It passes over
// this program, and also over its descendants if this program runs in a tree itself.
// Otherwise a survivor may be a child of this program, because this program is the init
// of a container.
func EndSurvivors(ctx context.Context, dead []Lineage, grace time.Duration) error {
	var q searches
	sessions, err := q.openDead(dead)
	if err != nil {
		return err
	}
	defer q.close()
	if len(sessions) == 0 {
		return nil
	}
	killAt := time.Now().Add(grace)
	terminated := make(map[int]bool)
	for empty := 0; ; {
		living, settled, full := q.survivors(sessions)
		var names []string
		for _, m := range living {
			if time.Now().After(killAt) {
				_ = m.signal(syscall.SIGKILL) // what cannot be signalled stays, and is named
			} else if !terminated[m.pid] {
				terminated[m.pid] = true
				_ = m.signal(syscall.SIGTERM)
				_ = m.signal(syscall.SIGCONT)
			}
			names = append(names, fmt.Sprint("pid ", m.pid))
		}
		closeMembers(living)
		if len(living) > 0 || full {
			empty = 0
		} else if empty++; settled || empty == emptySearches {
			break
		}
		if full && time.Since(killAt) > killSurvivors {
			return xerrors.Errorf("processes of a dead manager may be alive: no file descriptor is left to look for them: %w", sentinel.ErrLimit)
		}
		if len(living) > 0 && time.Since(killAt) > killSurvivors {
			return xerrors.Errorf("processes of a dead manager are still alive: %s", strings.Join(names, ", "))
		}
		select {
		case <-time.After(survivorPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, s := range sessions {
		s.cgroup.remove()
	}
	return nil
}

// openDead opens the searches and returns the sessions of the trees that this boot of
// the machine has seen. Their numbers prove nothing.
func (q *searches) openDead(dead []Lineage) (sessions []*session, err error) {
	if err := q.open(); err != nil {
		return nil, err
	}
	if q.proc != nil {
		q.proc.older = nil // the survivors are
	}
	for _, l := range dead {
		if l.Boot != bootID() {
			continue
		}
		s := &session{cookie: l.Cookie, mark: mark(l.Mark), slice: mark(l.Mark).slice(), fd: -1, reaped: true, dead: true}
		if l.Cgroup != "" {
			s.cgroup = &cgroup{path: l.Cgroup}
		}
		sessions = append(sessions, s)
	}
	return sessions, q.blocked
}

// survivors returns the members of dead trees that live, without those to pass over. full
// reports that no descriptor was left to look.
func (q *searches) survivors(sessions []*session) (living []member, settled, full bool) {
	r := q.ask(sessions)
	inTree := ownMark().tagged()
	for _, members := range r.found {
		for _, m := range members {
			if m.pid == os.Getpid() || inTree && isOwn(m.pid) {
				m.close()
			} else {
				living = append(living, m)
			}
		}
	}
	return living, r.settled, r.full
}

// isOwn reports whether a process is this program or a descendant of it.
func isOwn(pid int) bool {
	for pid > 1 && pid != os.Getpid() {
		p, ok := procstat.Look(pid)
		if !ok || p.Parent == pid {
			return false
		}
		pid = p.Parent
	}
	return pid == os.Getpid()
}
