package procmgr

import (
	"errors"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// deliver sends a signal to everything that belongs to some processes: to the
// shell's group at once, then to whatever else is in the session or has left it.
// It returns the live members that it found, by one search for all of them, and
// an error where the system forbade to signal one.
func (l *Local) deliver(rs []*record, sig syscall.Signal) (live map[*record][]int, err error) {
	sessions := make([]*session, len(rs))
	grouped := make(map[*session]bool, len(rs))
	for i, r := range rs {
		sessions[i] = r.session
		if sig == syscall.SIGKILL && r.session.cgroup != nil {
			_ = r.session.cgroup.kill()
		}
		grouped[r.session] = r.session.signalGroup(sig)
	}
	found, _ := newSearch(sessions, l.leaders()).run()
	live = make(map[*record][]int, len(found))
	send := func(r *record, m member) {
		live[r] = append(live[r], m.pid)
		if group, gerr := unix.Getpgid(m.pid); gerr == nil && group == r.session.pid && grouped[r.session] {
			return // it has it
		}
		if serr := m.signal(sig); serr != nil {
			err = xerrors.Errorf("pid %d cannot be signalled: %w", m.pid, serr)
		}
	}
	for _, r := range rs {
		for _, m := range found[r.session] {
			if m != unseen {
				send(r, m)
			}
		}
		closeMembers(found[r.session])
		// What was a member when it was last looked for is one, whatever it
		// has left since.
		r.session.eachPin(func(m member) {
			if !slices.Contains(live[r], m.pid) && m.alive() {
				send(r, m)
			}
		})
	}
	return live, err
}

// members looks for what lives in the session.
func (s *session) members() []member {
	found, looked := newSearch([]*session{s}, nil).run()
	if !looked {
		return append(found[s], unseen)
	}
	return found[s]
}

// escapees looks for what has left one of the sessions, and for what is in it.
// known are sessions that belong to somebody else. It reports false where it
// could not look.
func escapees(sessions []*session, known map[int]bool) (map[*session][]member, bool) {
	return newSearch(sessions, known).run()
}

func closeMembers(members []member) {
	for _, m := range members {
		m.close()
	}
}

// place makes the cgroup that the next process is to be in; nil for none.
func (l *Local) place() (*cgroup, error) {
	if l.cgroups == nil {
		return nil, nil
	}
	return l.cgroups.add()
}

// startIn starts a program in a new session, and in a cgroup where there is
// one. It returns a pidfd, or -1.
func (l *Local) startIn(g *cgroup, file string, argv []string, attr *syscall.ProcAttr) (pid, pidfd int, err error) {
	pidfd = -1
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	if !l.opts.noPidfd {
		attr.Sys.PidFD = &pidfd
	}
	if g != nil {
		fd, err := g.open()
		if err != nil {
			return -1, -1, cgroupError(g.path, err)
		}
		defer unix.Close(fd)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
	}
	started := forks.begin()
	pid, _, err = syscall.StartProcess(file, argv, attr)
	started()
	if err != nil && g != nil && unix.Access(file, unix.X_OK) == nil && !errors.Is(forkError(err, file), ErrLimit) && !errors.Is(err, unix.E2BIG) {
		// It is not the program's fault.
		err = cgroupError(g.path, err)
	}
	return pid, pidfd, err
}
