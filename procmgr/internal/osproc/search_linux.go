package osproc

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A search looks through /proc for the live members of some sessions.
type search struct {
	inCgroup  []*session // the sessions with a cgroup, which knows all its members
	bySession map[int]*session
	byCookie  map[string]*session
	// known has the numbers of the sessions that leaders of this System lead.
	// The search looks in none of them for members that left another session,
	// because no process can enter an existing session.
	known map[int]bool
	// environ is the buffer for the environment of one process.
	environ []byte
	// patience is how much longer the search waits for processes that are
	// between two programs.
	patience time.Duration
}

// newSearch returns a search for members by session. If known is not nil, the
// search looks for them by cookie as well. To do that, it reads the environment
// of every process that is in none of the known sessions.
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

// looks is how often a search looks, if processes have gone while it looked. A
// process that forks and exits can slip through a single look.
const looks = 3

// run returns the members that it found; the caller closes them. It reports
// false if it could not look because no descriptor was left: then any member
// may live.
func (f *search) run() (found map[*session][]member, looked bool) {
	found = make(map[*session][]member)
	for _, s := range f.inCgroup {
		found[s] = s.cgroup.members(s.noPidfd)
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

// check finds out if a process is a member of a session that the search looks
// for. It reports whether the process has gone meanwhile.
func (f *search) check(pid int) (s *session, m member, gone bool) {
	sid := sessionOf(pid)
	if sid < 0 {
		return nil, member{}, true
	}
	if s := f.bySession[sid]; s != nil {
		// First the pidfd, then the question. So the answer is about the
		// process that the pidfd holds, or that process is not alive.
		if m, ok := openMember(pid, s.noPidfd); ok {
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
		if m, ok := openMember(pid, s.noPidfd); ok {
			if f.marked(pid) == s && m.alive() {
				return s, m, false
			}
			m.close()
		}
	}
	return nil, member{}, false
}

// These are how long one search waits for processes that are in the middle of
// an exec: in all, and for each process. An exec takes some 100 µs, and longer
// if the new program comes from a slow disk.
const (
	maxPatience     = 400 * time.Millisecond
	maxPatienceEach = 100 * time.Millisecond
)

// marked returns the session whose cookie a process has in its environment. If
// the environment cannot be read, because the process is another user's, there
// is no such session. For a moment of its exec a process has no environment;
// then marked looks again.
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

// The environment that a process may have if it reads as empty.
const (
	noEnviron      = iota
	someEnviron    // there is one now
	unknownEnviron // an exec has not written it yet
)

// environOf tells which of these a process has. In stat, proc(5) has the start
// and the end of the environment as fields 50 and 51. They are zero until an
// exec has written the environment, and equal if it is empty.
func environOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return noEnviron
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from field 3 on, the state
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
		at := bytes.Index(rest, []byte(CookiePrefix))
		if at < 0 {
			return nil
		}
		start := at == 0 || rest[at-1] == 0
		rest = rest[at:]
		name, _, ok := bytes.Cut(rest[:min(len(rest), maxCookie+1)], []byte{'='})
		if s := f.byCookie[string(name)]; start && ok && s != nil {
			return s
		}
		rest = rest[len(CookiePrefix):]
	}
	return nil
}

// sessionOf returns the session of a process, or -1 if the process has gone.
func sessionOf(pid int) int {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return sid
}

// allProcesses returns the process numbers in /proc.
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

// members looks for the live members that are in the session.
func (s *session) members() []member {
	found, looked := newSearch([]*session{s}, nil).run()
	if !looked {
		return append(found[s], unseen)
	}
	return found[s]
}

// escapees looks for the live members of some sessions: those that have left
// their session, and those that are still in it. known are sessions that have
// leaders of their own. escapees reports false if it could not look.
func escapees(sessions []*session, known *leaders) (map[*session][]member, bool) {
	return newSearch(sessions, known.pids()).run()
}
