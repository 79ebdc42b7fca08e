package osproc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// searches look through /proc for the members of the sessions of a System. All
// callers who ask at the same time share one search. One search is made at a time,
// and a caller who asks meanwhile gets the answers of the next one. So each answer is
// of a search that began after the question, and however many callers ask, they wait
// for two searches at most.
type searches struct {
	turn    sync.Mutex // held during a search; it guards proc's directory and environ
	proc    *procfs    // nil if blocked says why
	blocked error
	environ []byte // the memory for the environment of a process

	mu   sync.Mutex // guards next; held for moments
	next *batch
}

// A batch has the requests that one search answers.
type batch struct {
	requests []*request
	done     chan struct{} // closed when they are answered
}

// A request asks for the live members of some sessions.
type request struct {
	sessions []*session

	// The answers: the members, and whether none was missed.
	found   map[*session][]member
	settled bool
	full    bool // no descriptor was left for one
}

func (q *searches) open() (err error) {
	if err := checkKernel(); err != nil {
		return err
	}
	if q.proc, err = openProcfs(); errors.Is(err, errors.ErrUnsupported) {
		q.blocked = err
		return nil
	}
	return err
}

func (q *searches) close() {
	if q.proc != nil {
		q.proc.close()
	}
}

func (q *searches) blind() error { return q.blocked }

// newest returns the number that the kernel gave out last, or 0 if it does not tell.
func (q *searches) newest() int {
	if q.proc == nil {
		return 0
	}
	return q.proc.newest()
}

// find looks for the live members of a session. It reports false if it may have missed
// one. The caller closes the members.
func (q *searches) find(s *session) (members []member, settled bool) {
	if q.childless(s) {
		return nil, true
	}
	r := q.ask([]*session{s})
	return r.found[s], r.settled
}

// childless reports whether the leader of a session has ended and has certainly left
// nothing behind: the kernel has given out no number since it gave the leader its own.
func (q *searches) childless(s *session) bool {
	return s.cgroup == nil && !s.dead && s.ended.Load() && q.newest() == s.pid && time.Since(s.born) < q.proc.lap
}

// deliver sends a signal to all members of some trees: first to the leader's group at
// once, then to every other member that is in the session or has left it.
func (q *searches) deliver(trees []*Tree, sig syscall.Signal) (d Delivery, err error) {
	sessions, grouped := make([]*session, len(trees)), make([]bool, len(trees))
	for i, t := range trees {
		sessions[i], grouped[i] = t.session, t.session.deliverGroup(sig)
	}
	r := q.ask(sessions)
	d = Delivery{Live: make(map[*Tree][]int), Settled: r.settled}
	for i, s := range sessions {
		var live []int
		send := func(m member) {
			live = append(live, m.pid)
			if failed := s.send(m, sig, grouped[i]); failed != nil {
				err = xerrors.Errorf("pid %d cannot be signalled: %w", m.pid, failed)
			}
		}
		for _, m := range r.found[s] {
			send(m)
			m.close()
		}
		// A process that was a member at the last look is still one, whatever
		// it has left since.
		s.eachPin(func(m member) {
			if !slices.Contains(live, m.pid) && m.alive() {
				send(m)
			}
		})
		if s.spares(sig) && slices.Equal(live, []int{s.pid}) {
			s.signalGroup(sig) // the shell has not begun
		}
		if len(live) > 0 {
			d.Live[trees[i]] = live
		}
	}
	return d, err
}

// ask answers a request. The first of a batch makes the search for all of them.
func (q *searches) ask(sessions []*session) *request {
	r := &request{sessions: sessions, found: make(map[*session][]member), settled: true}
	q.mu.Lock()
	b, first := q.next, q.next == nil
	if first {
		b = &batch{done: make(chan struct{})}
		q.next = b
	}
	b.requests = append(b.requests, r)
	q.mu.Unlock()
	if !first {
		<-b.done
		return r
	}
	q.turn.Lock()
	defer q.turn.Unlock()
	q.mu.Lock()
	q.next = nil // a later request may ask for processes that this search has passed
	q.mu.Unlock()
	newSearch(q, b.requests).run()
	close(b.done)
	return r
}

// A search looks for the members of the sessions of some requests.
type search struct {
	*searches
	requests map[*session][]*request
	found    map[*session][]member
	dead     map[int]bool // members that have exited, and are not reaped
	// again is the first process that was listed and has ended before it was looked
	// at, or that is in the middle of an exec; 0 for none.
	again int
	full  bool // no descriptor was left for a member
	own   mark // of this program
	// oldest is the first number that a member or its session can have.
	oldest int

	inCgroup  []*session // the sessions with a cgroup, which knows all its members
	bySession map[int]*session
	byMark    map[mark]*session
	bySlice   map[uint64]*session
	byCookie  map[string]*session
}

func newSearch(q *searches, requests []*request) *search {
	f := &search{
		searches: q, own: ownMark(),
		requests: make(map[*session][]*request), found: make(map[*session][]member), dead: make(map[int]bool),
		bySession: make(map[int]*session), byMark: make(map[mark]*session), bySlice: make(map[uint64]*session), byCookie: make(map[string]*session),
	}
	for _, r := range requests {
		for _, s := range r.sessions {
			f.requests[s] = append(f.requests[s], r)
			if s.cgroup != nil {
				if len(f.requests[s]) == 1 {
					f.inCgroup = append(f.inCgroup, s)
				}
				continue
			}
			if !s.dead {
				f.bySession[s.pid] = s
			}
			if !s.nested {
				f.byMark[s.mark] = s
			}
			if s.slice > 0 {
				f.bySlice[s.slice] = s
			}
			if s.slice == 0 || s.dead {
				f.byCookie[s.cookie] = s // it takes ten times as long as all others
			}
		}
	}
	return f
}

// run makes the search and answers the requests.
func (f *search) run() {
	settled := true
	for _, s := range f.inCgroup {
		members, all := s.cgroup.members()
		settled = settled && all
		for _, m := range members {
			f.add(s, m)
		}
	}
	if len(f.inCgroup) < len(f.requests) && f.proc != nil {
		settled = f.lookThrough() && settled
	}
	for s, requests := range f.requests {
		for i, r := range requests {
			r.settled, r.full = r.settled && settled, r.full || f.full
			r.found[s] = f.found[s]
			if i > 0 && !r.clone(s) {
				r.settled, r.full = false, true
			}
		}
	}
}

// A search that does not settle gives up when it has looked this often and this
// long. On a slow machine one look alone takes long.
const (
	leastLooks   = 20
	leastLooking = 500 * time.Millisecond
)

// lookThrough looks until it has settled. It reports false if it does not, or if no
// descriptor was left to look.
//
// The kernel gives out numbers in their order, and /proc is listed in that order too,
// until there is no higher number. So a look sees each process that lives from its
// beginning to its end, and each one that is forked meanwhile: that is still ahead.
// There are two exceptions, after which it looks again. If a process has ended since it
// was listed, it may have been in the middle of a fork: its child had a number, but was
// not to be seen yet. And the numbers may have begun again at the lowest ones.
func (f *search) lookThrough() (settled bool) {
	began := time.Now()
	newest := f.proc.newest()
	first := f.first(newest)
	f.oldest = first
	for looks := 1; ; looks++ {
		f.again = 0
		if f.proc.each(first, newest, f.look) != nil || f.full {
			return false
		}
		now := f.proc.newest()
		switch {
		case now < newest:
			first, f.oldest = 1, 1
		case f.again == 0 || f.enough():
			return true
		default:
			first = f.again
		}
		if looks >= leastLooks && time.Since(began) >= leastLooking {
			return false
		}
		if looks > 2 {
			time.Sleep(50 * time.Microsecond) // an exec takes some 100 µs
		}
		newest = now
	}
}

// first returns the first number to look at: the number of the oldest leader, unless
// numbers may have wrapped around since it was started.
func (f *search) first(newest int) (first int) {
	first = newest
	for s := range f.requests {
		if s.cgroup != nil {
			continue
		}
		if s.dead || newest < s.pid || time.Since(s.born) >= f.proc.lap {
			return 1
		}
		first = min(first, s.pid)
	}
	return first
}

// enough reports whether each session has a live member. Then there is no need to look
// for others, unless all of them are to be killed.
func (f *search) enough() bool {
	for s := range f.requests {
		if s.killed.Load() || len(f.found[s]) == 0 {
			return false
		}
	}
	return true
}

// look checks one process. It opens the pidfd first and asks then whether the process
// is a member. So the answer is about the process that the pidfd holds, or that
// process is not alive.
func (f *search) look(pid int) {
	s, known := f.sessionOf(pid)
	switch {
	case !known:
		f.lookAgain(pid)
		return
	case s == nil, pid == s.pid && s.ended.Load(), f.dead[pid], slices.ContainsFunc(f.found[s], func(m member) bool { return m.pid == pid }):
		return
	}
	m, err := openMember(pid)
	if errors.Is(err, errThread) {
		return
	}
	if err != nil {
		f.full = f.full || err != unix.ESRCH
		f.lookAgain(pid)
		return
	}
	again, _ := f.sessionOf(pid)
	if again == s && m.alive() {
		if limit, _ := markOf(pid); !s.nested && !s.dead && limit != s.mark {
			s.mark.setAll(pid)
		}
		f.add(s, m)
		return
	}
	if again == s && pid != s.pid {
		m.reap()
	}
	f.dead[pid] = again == s // it starts nothing any more
	m.close()
	f.lookAgain(pid)
}

// lookAgain notes that another look is to begin with a process at the latest.
func (f *search) lookAgain(pid int) {
	if f.again == 0 || pid < f.again {
		f.again = pid
	}
}

// sessionOf returns the session to which a process belongs, nil if to none. known is
// false if that cannot be told: the process has gone, or it is in the middle of an
// exec and has no environment yet.
func (f *search) sessionOf(pid int) (s *session, known bool) {
	sid, ok := sidOf(pid)
	if !ok {
		return nil, false
	}
	if s := f.bySession[sid]; s != nil && s.holdsNumber() {
		return s, true
	}
	if sid == 0 || sid < f.oldest {
		return nil, true // a kernel thread, or in a session that is older than all leaders
	}
	limit, ok := markOf(pid)
	if ok && limit.tagged() && limit != f.own {
		return f.byMark[limit], true
	}
	if s := f.bySlice[sliceOf(pid)]; s != nil {
		// Another manager may have the same slice.
		if cookies, _ := f.cookiesOf(pid); len(cookies) == 0 || slices.Contains(cookies, s.cookie) {
			return s, true
		}
	}
	if len(f.byCookie) == 0 {
		if !ok { // it has gone, or is hidden
			_, ok = sidOf(pid)
		}
		return nil, ok
	}
	cookies, known := f.cookiesOf(pid)
	for _, cookie := range cookies {
		if s := f.byCookie[cookie]; s != nil {
			return s, true
		}
	}
	return nil, known
}

// sidOf returns the session of a process. It reports false if that has gone. Like the
// other questions of a search it does not block, so the goroutine need not offer its
// processor to others, which it may not get back soon.
func sidOf(pid int) (sid int, ok bool) {
	n, _, errno := unix.RawSyscall(unix.SYS_GETSID, uintptr(pid), 0, 0)
	return int(n), errno == 0
}

// cookiesOf returns the cookies in a process's environment, except the cookies that
// this program has itself. It reports false if they cannot be read now.
func (f *search) cookiesOf(pid int) (cookies []string, known bool) {
	file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if errors.Is(err, os.ErrPermission) {
		return nil, true
	}
	if err != nil {
		f.full = f.full || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
		p, ok := procstat.Look(pid)
		return nil, ok && p.Ended() // a zombie has no environ, since Linux 6.15
	}
	defer file.Close()
	if f.environ == nil {
		f.environ = make([]byte, 16<<10)
	}
	n := 0
	for {
		got, err := file.Read(f.environ[n:])
		n += got
		if err != nil || got == 0 {
			break
		}
		if n == len(f.environ) {
			f.environ = append(f.environ, make([]byte, n)...)
		}
	}
	if n == 0 {
		// For a moment of its exec a process has no environment.
		p, ok := procstat.Look(pid)
		return nil, ok && (p.Ended() || p.Exiting || p.Environ[1] > 0 && p.Environ[0] == p.Environ[1])
	}
	for kv := range bytes.SplitSeq(f.environ[:n], []byte{0}) {
		if name, _, ok := bytes.Cut(kv, []byte{'='}); ok && bytes.HasPrefix(name, []byte(CookiePrefix)) && !inheritedCookies()[string(name)] {
			cookies = append(cookies, string(name))
		}
	}
	return cookies, true
}

// inheritedCookies returns the cookies in this program's own environment, which come
// from the managers around it.
var inheritedCookies = sync.OnceValue(func() map[string]bool {
	all := make(map[string]bool)
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, CookiePrefix) {
			all[name] = true
		}
	}
	return all
})

// add takes a member that lives. After Kill it lives no longer: what forks all the time
// must not get ahead of the search.
func (f *search) add(s *session, m member) {
	f.found[s] = append(f.found[s], m)
	if s.killed.Load() {
		_ = m.signal(syscall.SIGKILL) // deliver names it if that is forbidden
	}
}

// clone gives the request pidfds of its own for the members of a session. It reports
// false if there was no descriptor for one.
func (r *request) clone(s *session) (all bool) {
	members := r.found[s]
	r.found[s] = nil
	for _, m := range members {
		if fd, err := unix.FcntlInt(uintptr(m.fd), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			r.found[s] = append(r.found[s], member{pid: m.pid, fd: fd})
		}
	}
	return len(r.found[s]) == len(members)
}
