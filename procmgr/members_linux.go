package procmgr

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A member is a live process that belongs to a session, held by a pidfd, so
// that it stays the one that was verified whatever becomes of its number.
type member struct {
	pid   int
	pidfd int      // -1 where the system has no pidfds
	file  *os.File // pidfd in the poller, once it is waited for
}

// unseen stands for what may live where nobody could look. It is looked for
// again.
var unseen = member{pid: -1, pidfd: -1}

// openMember opens a pidfd; ok is false where the process has gone.
func (s *session) openMember(pid int) (m member, ok bool) {
	if s.bare {
		return member{pid: pid, pidfd: -1}, true
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch err {
	case nil:
		return member{pid: pid, pidfd: fd}, true
	case unix.ESRCH, unix.EINVAL:
		return member{}, false
	}
	// No pidfds here (ENOSYS), or no descriptor left for one.
	return member{pid: pid, pidfd: -1}, true
}

// alive reports whether any thread of the member runs: a zombie is not alive.
func (m member) alive() bool {
	if m.pidfd < 0 {
		return statAlive(m.pid)
	}
	return !readable(m.pidfd)
}

// readable asks without waiting. A pidfd is readable once its process, all
// threads of it, has exited.
func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n > 0
	}
}

// statAlive reads /proc/PID/stat: a process whose first thread is a zombie may
// have others that live.
func statAlive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		// Without a descriptor to look through, what is there is alive.
		return !errors.Is(err, fs.ErrNotExist) && unix.Kill(pid, 0) != unix.ESRCH
	}
	// The name in parentheses may hold anything; the last one ends it. After
	// it come the state, and 17 fields on the number of threads, see proc(5).
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 18 {
		return false
	}
	dead := fields[0][0] == 'Z' || fields[0][0] == 'X'
	return !dead || string(fields[17]) != "1" && string(fields[17]) != "0"
}

// signal sends a signal. One that has gone meanwhile needs none.
func (m member) signal(sig syscall.Signal) error {
	var err error
	if m.pidfd >= 0 {
		err = unix.PidfdSendSignal(m.pidfd, sig, nil, 0)
	} else {
		err = unix.Kill(m.pid, sig) // only where the system has no pidfds
	}
	if err == unix.ESRCH {
		return nil
	}
	return err
}

// reap takes a member that has exited off this program's hands, where this is
// the PID 1 or the subreaper that has adopted it. Of anybody else's child, and
// of one that lives, it takes nothing.
func (m member) reap() {
	if m.pidfd >= 0 {
		_ = unix.Waitid(unix.P_PIDFD, m.pidfd, nil, unix.WEXITED|unix.WNOHANG, nil)
	}
}

func (m member) close() {
	switch {
	case m.file != nil:
		_ = m.file.Close()
	case m.pidfd >= 0:
		_ = unix.Close(m.pidfd)
	}
}

// A search looks through /proc for the live members of some sessions.
type search struct {
	inCgroup  []*session // those that have one: it knows all
	bySession map[int]*session
	byCookie  map[string]*session
	// known are sessions in which no escapee of another one is looked for:
	// nothing can enter a session, and these are led by processes of ours.
	known map[int]bool
	// environ is the buffer for the environment of one process.
	environ []byte
	// patience is how much longer the search waits for processes that are
	// between two programs.
	patience time.Duration
}

// newSearch returns a search for members by session, and where known is not
// nil, by cookie as well. That reads the environment of every process that is
// in none of the known sessions.
func newSearch(sessions []*session, known map[int]bool) *search {
	f := &search{
		bySession: make(map[int]*session, len(sessions)),
		byCookie:  make(map[string]*session, len(sessions)),
		known:     known,
		patience:  maxPatience,
	}
	for _, s := range sessions {
		if s.cgroup != nil {
			f.inCgroup = append(f.inCgroup, s)
			continue
		}
		if !s.empty.Load() {
			f.bySession[s.pid] = s
		}
		f.byCookie[s.cookie] = s
	}
	return f
}

// looks is how often a search looks again where processes have gone while it
// looked: one that forks and exits can slip through a single look.
const looks = 3

// run returns what it found, for the caller to close. It reports false where it
// could not look, for want of a descriptor: then anything may live.
func (f *search) run() (found map[*session][]member, looked bool) {
	found = make(map[*session][]member)
	for _, s := range f.inCgroup {
		found[s] = s.cgroup.members(s)
	}
	if len(f.byCookie) == 0 {
		return found, true
	}
	seen := make(map[int]bool)
	for range looks {
		settled := true
		pids, err := allProcesses()
		if err != nil {
			return found, false
		}
		for _, pid := range pids {
			if seen[pid] {
				continue
			}
			s, m, gone := f.check(pid)
			if gone {
				settled = false
			}
			if s != nil {
				seen[pid] = true
				found[s] = append(found[s], m)
			}
		}
		if settled {
			break
		}
	}
	return found, true
}

// check finds out whether a process is a member of a session that is searched
// for. It reports whether the process has gone meanwhile.
func (f *search) check(pid int) (s *session, m member, gone bool) {
	sid := sessionOf(pid)
	if sid < 0 {
		return nil, member{}, true
	}
	if s := f.bySession[sid]; s != nil {
		// First the pidfd, then the question: the answer is about the
		// process that the pidfd holds, or that one is not alive.
		if m, ok := s.openMember(pid); ok {
			ours := sessionOf(pid) == sid && (s.holdsNumber() || f.marked(pid) == s)
			if ours && m.alive() {
				return s, m, false
			}
			if ours && pid != s.pid {
				m.reap()
			}
			m.close()
		}
	}
	if f.known == nil || sid == 0 || f.known[sid] { // 0: a kernel thread
		return nil, member{}, false
	}
	if s := f.marked(pid); s != nil {
		if m, ok := s.openMember(pid); ok {
			if f.marked(pid) == s && m.alive() {
				return s, m, false
			}
			m.close()
		}
	}
	return nil, member{}, false
}

// One search waits so long in all, and for each process, for what is in the midst
// of an exec. That takes some 100 µs, and longer where the new program comes from
// a slow disk.
const (
	maxPatience     = 400 * time.Millisecond
	maxPatienceEach = 100 * time.Millisecond
)

// marked returns the session whose cookie a process has in its environment.
// What cannot be read (another user's process) has none. For a moment of its
// exec, a process has no environment: it is looked at again.
func (f *search) marked(pid int) *session {
	patience := min(f.patience, maxPatienceEach)
	for again, pause := 0, 50*time.Microsecond; ; again++ {
		n, err := f.readEnviron(pid)
		if err != nil {
			return nil
		}
		if n > 0 {
			return f.owner(f.environ[:n])
		}
		switch environOf(pid) {
		case noEnviron:
			return nil
		case someEnviron:
			if again == 12 {
				return nil // it cannot be read
			}
			time.Sleep(20 * time.Microsecond)
		case unknownEnviron:
			if patience <= 0 {
				return nil
			}
			time.Sleep(pause)
			patience -= pause
			f.patience -= pause
			pause *= 2
		}
	}
}

// readEnviron reads the environment of a process into the search's buffer.
func (f *search) readEnviron(pid int) (n int, err error) {
	file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if f.environ == nil {
		f.environ = make([]byte, 16<<10)
	}
	for {
		got, err := file.Read(f.environ[n:])
		n += got
		if err != nil || got == 0 {
			return n, nil
		}
		if n == len(f.environ) {
			f.environ = append(f.environ, make([]byte, n)...)
		}
	}
}

// What a process has whose environment reads as empty.
const (
	noEnviron      = iota
	someEnviron    // it is there now
	unknownEnviron // an exec has not written it yet
)

// environOf tells which of them it is: proc(5) has the two ends of an environment
// as numbers 50 and 51 in stat, zero until an exec has written it and equal
// where it is empty.
func environOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return noEnviron
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from number 3 on, the state
	if len(fields) < 49 || bytes.ContainsAny(fields[0], "ZX") {
		return noEnviron
	}
	switch start, end := string(fields[47]), string(fields[48]); {
	case end == "0":
		return unknownEnviron
	case start != end:
		return someEnviron
	}
	return noEnviron
}

// owner returns the session whose cookie is in an environment.
func (f *search) owner(environ []byte) *session {
	rest := environ
	for len(rest) > 0 {
		at := bytes.Index(rest, []byte(cookiePrefix))
		if at < 0 {
			return nil
		}
		start := at == 0 || rest[at-1] == 0
		rest = rest[at:]
		name, _, ok := bytes.Cut(rest[:min(len(rest), maxCookie+1)], []byte{'='})
		if s := f.byCookie[string(name)]; start && ok && s != nil {
			return s
		}
		rest = rest[len(cookiePrefix):]
	}
	return nil
}

// sessionOf returns a process's session, -1 where the process has gone.
func sessionOf(pid int) int {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return sid
}

// allProcesses returns the numbers in /proc.
func allProcesses() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// rescan is how often a member is looked for that cannot be waited for.
const rescan = 100 * time.Millisecond

// await takes the members over and returns once all of them have gone, or the
// session is closed.
func (s *session) await(members []member) {
	for i := range members {
		if m := &members[i]; m.pidfd >= 0 {
			m.file = pollable(m.pidfd, "pidfd")
		}
	}
	s.mu.Lock()
	select {
	case <-s.done:
		s.mu.Unlock()
		closeMembers(members)
		return
	default:
	}
	s.pins = members
	s.mu.Unlock()

	blind := false
	for _, m := range members {
		if m.file == nil {
			blind = true
			continue
		}
		conn, err := m.file.SyscallConn()
		if err != nil {
			continue
		}
		_ = conn.Read(func(fd uintptr) bool {
			if !readable(int(fd)) {
				return false
			}
			member{pidfd: int(fd)}.reap()
			return true
		})
	}
	if blind {
		select {
		case <-s.done:
		case <-time.After(rescan):
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	closeMembers(s.pins)
	s.pins = nil
}
