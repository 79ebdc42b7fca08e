package osproc

import (
	"errors"
	"os"
)

// A System starts commands on this machine. It is safe for concurrent use.
type System struct {
	cgroups *cgroups // nil if Config.Cgroup is not set
	lacks   lacks
	shell   shellPath
	// inheritable is the highest descriptor that leaders do not inherit.
	inheritable int
	shared
}

// Open returns a System. It fails if the platform cannot run commands, or if
// the cgroup cannot be used.
func Open(c Config) (*System, error) {
	if err := checkPlatform(); err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	s := &System{inheritable: lastInheritable(), shared: shared{null: null, oom: newOOMCounter()}}
	if s.poller, err = newPoller(c.NoPoll, &s.crew); err != nil {
		null.Close()
		return nil, err
	}
	s.lacks.pidfd, s.lacks.mark = c.NoPidfd || !hasPidfds(), c.NoMark
	s.lacks.trace.Store(c.NoTrace)
	if c.Cgroup != "" {
		if s.cgroups, err = openCgroups(&c); err != nil {
			s.poller.close()
			s.crew.close()
			null.Close()
			return nil, err
		}
	}
	return s, nil
}

// Blind returns an error if the members of a tree cannot be looked for, so that Kill
// cannot tell whether it has ended all of them. With a cgroup they are known.
func (s *System) Blind() error {
	if s.cgroups != nil {
		return nil
	}
	return checkProcfs()
}

// Go calls f in a goroutine. No method of the System waits for it.
func (s *System) Go(f func()) { s.crew.run(f) }

// Close frees the resources of the System. The caller calls it when it follows
// no tree any more.
func (s *System) Close() {
	s.poller.close()
	s.reading.Wait()
	s.crew.close()
	s.null.Close()
	s.cgroups.close()
}

// Start runs a command. Its output is not read before Watch. If Start returns
// an error, nothing runs. Start holds no lock during the fork.
func (s *System) Start(c Command) (*Tree, error) {
	cookie := newCookie()
	c.Env = append(c.Env, cookie+"=1")
	file, known, err := s.shell.find(c.Argv[0])
	if err != nil {
		return nil, err
	}
	t, err := s.fork(&c, file, cookie)
	if known && errors.Is(err, errShell) {
		// The shell may have moved since it was found.
		s.shell.forget()
		if file, _, err = s.shell.find(c.Argv[0]); err != nil {
			return nil, err
		}
		t, err = s.fork(&c, file, cookie)
	}
	return t, err
}

func (s *System) fork(c *Command, file, cookie string) (*Tree, error) {
	leader, pipe, input, err := fork(c, file, cookie, s.null, s.inheritable, s.cgroups, &s.lacks)
	if err != nil {
		return nil, err
	}
	s.sessions.add(leader)
	return &Tree{shared: &s.shared, session: leader, pipe: pipe, input: input}, nil
}

// A Delivery tells how far a signal has come.
type Delivery struct {
	// Live has the members of each tree that were found alive.
	Live map[*Tree][]int
	// Settled reports that no member was missed. If it is false, processes were
	// started faster than they can be looked at, or no descriptor was left to
	// look.
	Settled bool
}

// Signal sends a signal to all members of some trees. After SIGTERM and SIGINT
// it continues those that are stopped, so that they take it. It returns an error
// if the system did not permit it to signal one of them. On Windows every signal
// ends the trees.
func (s *System) Signal(trees []*Tree, sig Signal) (Delivery, error) {
	found, settled, err := s.sessions.deliver(sessionsOf(trees), sig)
	live := make(map[*Tree][]int, len(found))
	for _, t := range trees {
		if pids := found[t.session]; len(pids) > 0 {
			live[t] = pids
		}
	}
	return Delivery{live, settled}, err
}

// KillGroups sends SIGKILL to the groups of the leaders of some trees, and does
// not search. Then Finish kills the members that it finds besides.
func (s *System) KillGroups(trees []*Tree) { s.sessions.killGroups(sessionsOf(trees)) }

// Search looks for members that have left the sessions of some trees that have
// ended. It reports false if it may have missed one. The caller follows or
// closes each Escaped that it gets.
func (s *System) Search(trees []*Tree) (found map[*Tree]*Escaped, settled bool) {
	s.oom.struck() // no later death is put down to an old strike
	members, settled := s.sessions.find(sessionsOf(trees), true)
	found = make(map[*Tree]*Escaped, len(members))
	for _, t := range trees {
		if left := members[t.session]; len(left) > 0 {
			found[t] = &Escaped{tree: t, members: left}
		}
	}
	return found, settled
}

func sessionsOf(trees []*Tree) []*session {
	sessions := make([]*session, len(trees))
	for i, t := range trees {
		sessions[i] = t.session
	}
	return sessions
}
