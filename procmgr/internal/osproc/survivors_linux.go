package osproc

import (
	"context"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

const (
	// survivorPause is how long EndSurvivors waits before it looks again.
	survivorPause = 10 * time.Millisecond
	// maxSurvivorKill is how long it repeats SIGKILL.
	maxSurvivorKill = 5 * time.Second
)

// EndSurvivors ends what is left of trees whose System died with its program: SIGTERM
// to every member, SIGKILL to those that live after grace. It returns when nothing is
// left, or with an error that names the survivors. It signals no process unless
// something proves that it is a member: the mark, the cookie or the cgroup, or the
// leader's number and start time. This program and its descendants are passed over.
func EndSurvivors(ctx context.Context, dead []Lineage, grace time.Duration) error {
	s := newSurvivors(dead)
	killAt := time.Now().Add(grace)
	giveUp := killAt.Add(maxSurvivorKill)
	terminated := make(map[int]bool)
	for empty := 0; empty < 2; { // a member may have forked behind the first look's back
		living, err := s.find()
		if err != nil {
			return err
		}
		now := time.Now()
		var names []string
		for _, m := range living {
			switch {
			case !now.Before(killAt):
				_ = m.signal(syscall.SIGKILL) // whoever cannot be signalled stays, and is named
			case !terminated[m.pid]:
				terminated[m.pid] = true
				_ = m.signal(syscall.SIGTERM)
				_ = m.signal(syscall.SIGCONT)
			}
			names = append(names, "pid "+strconv.Itoa(m.pid))
		}
		closeMembers(living)
		if len(living) == 0 {
			empty++
			continue
		}
		empty = 0
		if now.After(giveUp) {
			return xerrors.Errorf("processes of a dead manager are still alive: %s", strings.Join(names, ", "))
		}
		select {
		case <-time.After(survivorPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, l := range s.cgroups {
		(&cgroup{path: l}).remove()
	}
	return nil
}

// BootID names the boot of this machine, or is "".
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// survivors looks for the members of some trees.
type survivors struct {
	byMark   map[mark]bool
	byCookie map[string]bool
	leaders  map[int]uint64 // the start times
	cgroups  []string
	environ  environReader
}

func newSurvivors(dead []Lineage) *survivors {
	s := &survivors{byMark: make(map[mark]bool), byCookie: make(map[string]bool), leaders: make(map[int]uint64)}
	boot := BootID()
	for _, l := range dead {
		if l.Boot != boot {
			continue
		}
		if l.Mark != 0 {
			s.byMark[lineageKey(mark(l.Mark))] = true
		}
		if l.Cookie != "" {
			s.byCookie[l.Cookie] = true
		}
		if l.PID != 0 && l.Start != 0 {
			s.leaders[l.PID] = l.Start
		}
		if l.Cgroup != "" {
			s.cgroups = append(s.cgroups, l.Cgroup)
		}
	}
	s.environ.patience = maxPatience
	return s
}

// lineageKey returns the part of a mark that all members of a tree have, also those
// that a manager within the tree has marked.
func lineageKey(m mark) mark {
	if m&innerSpace == innerSpace {
		return m >> treeShift << treeShift
	}
	return m
}

// find returns the members that live.
func (s *survivors) find() (living []member, err error) {
	for _, path := range s.cgroups {
		for _, m := range (&cgroup{path: path}).members(false) {
			if m != unseen {
				living = append(living, m)
			}
		}
	}
	if len(s.byMark)+len(s.byCookie)+len(s.leaders) == 0 {
		return living, nil
	}
	proc, err := openProcfs()
	if err != nil {
		return living, err
	}
	defer proc.close()
	err = proc.each(1, math.MaxInt, func(pid int, _ uint64) {
		if !s.has(pid) || slices.ContainsFunc(living, func(m member) bool { return m.pid == pid }) {
			return
		}
		m, ok := openMember(pid, false)
		switch {
		case !ok:
		case m.alive() && s.has(pid) && !isOwn(pid): // asked again, now that the pidfd holds it
			living = append(living, m)
		default:
			m.close()
		}
	})
	return living, err
}

// has reports whether something proves that a process is a member.
func (s *survivors) has(pid int) bool {
	if start := s.leaders[pid]; start != 0 {
		if p, ok := procstat.Look(pid); ok && p.Start == start {
			return true
		}
	}
	if m, ok := markOf(pid); ok && m.tagged() && (s.byMark[m] || s.byMark[m>>treeShift<<treeShift]) {
		return true
	}
	text, err := s.environ.read(pid)
	found := false
	if err == nil {
		eachCookie(text, func(name []byte) bool {
			found = s.byCookie[string(name)]
			return !found
		})
	}
	return found
}

// isOwn reports whether a process is this program or a descendant of it.
func isOwn(pid int) bool {
	for own := os.Getpid(); pid > 1; {
		if pid == own {
			return true
		}
		p, ok := procstat.Look(pid)
		if !ok || p.Parent == pid {
			return false
		}
		pid = p.Parent
	}
	return false
}
