package osproc

import (
	"math"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// A search looks through /proc for the live members of some sessions.
type search struct {
	requests map[*session][]*request
	// found has the members that live, and seen their numbers.
	found map[*session][]member
	seen  map[int]bool
	// gone is the first process that was listed and has ended before it was
	// looked at, or 0. dead has the zombies that were seen, by their inodes.
	gone int
	dead map[int]uint64
	// doubtful has the processes of which nothing but the mark says that they are
	// members, if that is no proof. Some are proven at a later look.
	doubtful map[*session][]int

	inCgroup  []*session // the sessions with a cgroup, which knows all its members
	bySession map[int]*session
	byMark    map[mark]*session
	byCookie  map[string]*session
	// known has the numbers of the sessions that leaders of this System lead.
	// Members of one of these are members of no other tree, because no process
	// can enter an existing session.
	known map[int]bool

	environ   environReader
	strangers *strangers
	deep      bool // a request wants the cookies to be looked for
}

// newSearch returns a search that answers some requests.
func newSearch(requests []*request, known map[int]bool, strangers *strangers) *search {
	f := &search{
		requests:  make(map[*session][]*request),
		found:     make(map[*session][]member),
		seen:      make(map[int]bool),
		dead:      make(map[int]uint64),
		doubtful:  make(map[*session][]int),
		bySession: make(map[int]*session),
		byMark:    make(map[mark]*session),
		byCookie:  make(map[string]*session),
		known:     known,
		strangers: strangers,
	}
	for _, r := range requests {
		f.deep = f.deep || r.deep
		for _, s := range r.sessions {
			if r.deep && s.cgroup == nil && !s.whole {
				f.environ.patience = maxPatience
			}
			f.requests[s] = append(f.requests[s], r)
			if len(f.requests[s]) > 1 {
				continue
			}
			if s.cgroup != nil {
				f.inCgroup = append(f.inCgroup, s)
				continue
			}
			f.byCookie[s.cookie] = s
			if !s.empty.Load() {
				f.bySession[s.pid] = s
			}
			if s.mark != 0 {
				f.byMark[marks.key(s.mark)] = s
			}
		}
	}
	return f
}

// A search that does not settle gives up when it has looked this often and this
// long. On a slow machine one look alone takes long.
const (
	leastLooks   = 20
	leastLooking = 500 * time.Millisecond
)

// run looks until it has settled: until nothing has forked or ended during a
// look. Then it has missed no member. Otherwise it looks again, but only at the
// processes that are newer than the look before, or than the first that has
// ended. A chain of processes that fork and exit is caught by this, although it
// is faster than a look at all processes. run reports false if it does not settle, or if no descriptor was
// left to look.
func (f *search) run() (settled bool) {
	for _, s := range f.inCgroup {
		for _, m := range s.cgroup.members(s.noPidfd) {
			f.add(s, m)
		}
	}
	if len(f.inCgroup) == len(f.requests) {
		return true
	}
	proc, err := openProcfs()
	if err != nil {
		return false
	}
	defer proc.close()
	newest := proc.newest()
	if err := f.lookAtAll(proc); err != nil {
		return false
	}
	began := time.Now()
	for looks := 1; ; looks++ {
		now, after := proc.newest(), newest
		if f.gone > 0 {
			after = min(after, f.gone-1)
		}
		if f.gone == 0 && now == newest || newest > 0 && f.enough() {
			return true
		}
		if newest == 0 { // the system does not tell
			err = f.lookAtAll(proc)
		} else {
			err = f.lookAtNewer(proc, after, now < newest, now)
		}
		newest = now
		if err != nil || looks >= leastLooks && time.Since(began) >= leastLooking {
			return false
		}
	}
}

// enough reports whether each session has a member that lives: then nobody asks
// if there are others, unless all of them are to be killed.
func (f *search) enough() bool {
	for s := range f.requests {
		if s.killed.Load() || len(f.found[s]) == 0 {
			return false
		}
	}
	return true
}

// lookAtAll looks at every process.
func (f *search) lookAtAll(proc *procfs) error {
	f.gone = 0
	f.strangers.begin()
	err := proc.each(1, math.MaxInt, f.look)
	if err == nil {
		f.strangers.end()
	}
	return err
}

// lookAtNewer looks at the processes with the numbers above one. Numbers are
// given in their order and begin again at the end: if they have, lookAtNewer
// also looks at the numbers up to the last one.
func (f *search) lookAtNewer(proc *procfs, above int, wrapped bool, last int) error {
	f.gone = 0
	err := proc.each(above+1, math.MaxInt, f.look)
	if err == nil && wrapped {
		err = proc.each(1, last, f.look)
	}
	return err
}

// look checks one process, and notes the first that has gone since it was
// listed. Such a process may have been in the middle of a fork when the list was
// made: its child had a number, but was not to be seen yet.
func (f *search) look(pid int, inode uint64) {
	if f.check(pid, inode) && (f.gone == 0 || pid < f.gone) {
		f.gone = pid
	}
}

// check finds out if a process is a live member of a session that the search
// looks for. It reports whether the process has gone meanwhile.
func (f *search) check(pid int, inode uint64) (gone bool) {
	if f.seen[pid] || f.bySession[pid] == nil && f.strangers.has(pid, inode) {
		return false
	}
	sid := sessionOf(pid)
	if sid < 0 {
		return true
	}
	if s := f.bySession[sid]; s != nil {
		return f.verify(s, pid, inode, func() bool {
			return sessionOf(pid) == sid && (s.holdsNumber() || f.byMarkOf(pid, inode) == s || f.byCookieOf(pid) == s)
		})
	}
	if sid == 0 { // a kernel thread
		f.strangers.add(pid, inode)
		return false
	}
	if f.known[sid] {
		return false
	}
	limit, ok := markOf(pid)
	if s := f.byMark[marks.key(limit)]; ok && s != nil {
		return f.verify(s, pid, inode, func() bool { return f.byMarkOf(pid, inode) == s })
	}
	if ok {
		switch marks.says(limit) {
		case markOfAStranger:
			f.strangers.add(pid, inode)
			return false
		case markOfAnotherTree:
			return false
		}
	}
	if !f.deep {
		return sessionOf(pid) < 0
	}
	s, stranger := f.cookieOf(pid)
	switch {
	case s != nil:
		return f.verify(s, pid, inode, func() bool { return f.byCookieOf(pid) == s })
	case stranger:
		f.strangers.add(pid, inode)
	}
	return sessionOf(pid) < 0
}

// verify adds a process to the members of a session, if it is one and lives. It
// opens the pidfd first and asks then. So the answer is about the process that
// the pidfd holds, or that process is not alive. It reports whether the process
// has ended since it was listed.
func (f *search) verify(s *session, pid int, inode uint64, ours func() bool) (gone bool) {
	m, ok := openMember(pid, s.noPidfd)
	if !ok {
		return true
	}
	isOurs := ours()
	if isOurs && m.alive() {
		if s.mark != 0 && !s.whole && f.byMarkOf(pid, inode) != s {
			s.mark.setAll(pid)
		}
		f.add(s, m)
		if inode > 1 && f.hasMarkAlone(s, pid) {
			if s.proven == nil {
				s.proven = make(map[int]uint64)
			}
			s.proven[pid] = inode
		}
		return false
	}
	if isOurs && pid != s.pid {
		m.reap()
	}
	if !isOurs && m.alive() && f.hasMarkAlone(s, pid) && !slices.Contains(f.doubtful[s], pid) {
		f.doubtful[s] = append(f.doubtful[s], pid)
	}
	m.close()
	if f.dead[pid] == inode {
		return false // a zombie, which starts nothing any more
	}
	f.dead[pid] = inode
	return true
}

// add takes a member that lives, and sends it the signals of the requests for
// its session.
func (f *search) add(s *session, m member) {
	f.found[s] = append(f.found[s], m)
	f.seen[m.pid] = true
	if m == unseen {
		return
	}
	killed := false
	for _, r := range f.requests[s] {
		if r.sig != 0 {
			r.send(s, m)
			killed = killed || r.sig == syscall.SIGKILL
		}
	}
	if s.killed.Load() && !killed {
		_ = m.signal(syscall.SIGKILL) // Kill names it if that is forbidden
	}
}

// byMarkOf returns the session whose mark a process has.
func (f *search) byMarkOf(pid int, inode uint64) *session {
	limit, ok := markOf(pid)
	s := f.byMark[marks.key(limit)]
	if !ok || s == nil {
		return nil
	}
	if marks.nested() {
		// Few bits of the mark are random. A process that has the cookies of
		// others, and not this one, is another manager's. One without cookies
		// has to be proven.
		if found, stranger := f.cookieOf(pid); found != s && !(stranger && f.proven(s, pid, inode)) {
			return nil
		}
	}
	return s
}

// hasMarkAlone reports whether a process has the mark of a session and no cookie,
// and the mark is no proof.
func (f *search) hasMarkAlone(s *session, pid int) bool {
	limit, ok := markOf(pid)
	if !ok || !marks.nested() || f.byMark[marks.key(limit)] != s {
		return false
	}
	found, stranger := f.cookieOf(pid)
	return found == nil && stranger
}

// byCookieOf returns the session whose cookie a process has.
func (f *search) byCookieOf(pid int) *session {
	s, _ := f.cookieOf(pid)
	return s
}

// cookieOf returns the session whose cookie a process has in its environment.
// stranger reports that it has no cookie of a tree of this or of another
// manager, so that it never is a member by its cookie.
func (f *search) cookieOf(pid int) (s *session, stranger bool) {
	environ, err := f.environ.read(pid)
	if err != nil {
		return nil, false
	}
	stranger = true
	eachCookie(environ, func(name []byte) bool {
		s = f.byCookie[string(name)]
		stranger = stranger && f.strangers.inherited[string(name)]
		return s == nil
	})
	return s, stranger
}

// strangers are the processes that are known to be members of no tree. Nothing
// becomes a member later, so that each is looked at only once. A process is
// known by its number and by the inode of its directory in /proc.
type strangers struct {
	inherited  map[string]bool // the cookies of this program itself
	all, spare map[int]uint64
	looking    bool // at all processes: spare has those that live
}

func (k *strangers) has(pid int, inode uint64) bool {
	if known, ok := k.all[pid]; !ok || known != inode {
		return false
	}
	if k.looking {
		k.spare[pid] = inode
	}
	return true
}

func (k *strangers) add(pid int, inode uint64) {
	if inode <= 1 {
		return
	}
	if k.looking {
		k.spare[pid] = inode
	} else {
		k.all[pid] = inode
	}
}

// begin begins a look at all processes. end forgets those that have gone.
func (k *strangers) begin() {
	if k.inherited == nil {
		k.inherited = inheritedCookies()
		k.all, k.spare = make(map[int]uint64), make(map[int]uint64)
	}
	clear(k.spare)
	k.looking = true
}

func (k *strangers) end() {
	k.looking = false
	k.all, k.spare = k.spare, k.all
}

// send sends the request's signal to a member, unless the signal to the leader's
// group has reached it.
func (r *request) send(s *session, m member) {
	r.live[s] = append(r.live[s], m.pid)
	if r.sig != syscall.SIGKILL {
		if group, err := unix.Getpgid(m.pid); err == nil && group == s.pid && r.grouped[s] {
			return
		}
	}
	if s.spares(r.sig) && m.pid == s.pid {
		if wakes(r.sig) {
			_ = m.signal(syscall.SIGCONT)
		}
		return
	}
	if err := m.signal(r.sig); err != nil {
		r.err = xerrors.Errorf("pid %d cannot be signalled: %w", m.pid, err)
	}
	if wakes(r.sig) {
		_ = m.signal(syscall.SIGCONT) // no more is permitted than the signal itself
	}
}

// handOver hands the members of a session over to the requests that keep them.
func (f *search) handOver() {
	for s, requests := range f.requests {
		members := f.found[s]
		doubtful := slices.DeleteFunc(f.doubtful[s], func(pid int) bool { return f.seen[pid] })
		s.doubtful.Store(&doubtful)
		for _, r := range requests {
			if r.keep && len(members) > 0 {
				r.found[s] = cloneMembers(members)
			}
		}
		closeMembers(members)
	}
}

// cloneMembers returns members with pidfds of their own.
func cloneMembers(members []member) []member {
	clones := make([]member, len(members))
	for i, m := range members {
		clones[i] = m
		if m.pidfd >= 0 {
			fd, err := unix.FcntlInt(uintptr(m.pidfd), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				fd = -1 // no descriptor is left: it is looked for again
			}
			clones[i].pidfd = fd
		}
	}
	return clones
}

// over notes that nothing is left of the sessions of which a deep look has found
// nothing. Their marks are free for others.
func (f *search) over() {
	for s, requests := range f.requests {
		if s.mark == 0 || len(f.found[s])+len(f.doubtful[s]) > 0 || !s.isReaped() {
			continue
		}
		for _, r := range requests {
			if r.deep {
				s.forget.Do(func() { marks.free(s.mark) })
				break
			}
		}
	}
}
