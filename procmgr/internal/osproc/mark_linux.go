package osproc

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// A mark is a value of RLIMIT_LOCKS, the limit on the number of file locks. The
// kernel has enforced no such limit since Linux 2.4.25, but it still keeps one
// for each process. A child inherits it, whatever becomes of its session, its
// environment and its user, and any process may read it. Without privilege it
// can only be lowered. So it tells to which tree a process belongs:
//
//	 4 bits  markTag
//	24 bits  the manager: random, one for each program
//	16 bits  the tree: counted
//	20 bits  for a manager that runs within that tree; all ones otherwise
//
// A manager that finds itself marked keeps the upper 44 bits and divides the
// last 20 into 6 random and 14 counted ones. A manager within a tree of that
// one sets no marks.
type mark uint64 // 0 is no mark

const (
	markTag     = 0x5
	tagShift    = 60
	outerShift  = 36 // the tag and the manager
	treeShift   = 20
	innerShift  = 14
	innerSpace  = 1<<treeShift - 1
	rlimitLocks = 10 // RLIMIT_LOCKS of setrlimit(2), which x/sys names only for some architectures
)

func (m mark) tagged() bool { return m>>tagShift == markTag }

// A markSource makes the marks of this program's trees. It is one for all
// Systems, because a mark has the number of the program, and not of a System.
type markSource struct {
	once   sync.Once
	own    mark // that of this program; all ones if it has none
	base   mark // the bits that all marks of this program have in common
	shift  uint // the lowest bit of the count
	counts uint64

	mu   sync.Mutex // guards the fields below; held for moments
	next uint64
	live map[mark]struct{}
}

var marks markSource

func (s *markSource) init() {
	s.once.Do(func() {
		var limit unix.Rlimit
		if unix.Prlimit(0, rlimitLocks, nil, &limit) != nil {
			return
		}
		s.own = mark(limit.Max)
		s.live = make(map[mark]struct{})
		r := randomMark()
		switch {
		case !s.own.tagged():
			s.shift, s.counts = treeShift, 1<<16
			s.base = markTag<<tagShift | mark(r&(1<<24-1))<<outerShift
		case s.own&innerSpace == innerSpace:
			s.counts = 1 << innerShift
			s.base = s.own&^innerSpace | mark(r%63)<<innerShift // 63 is not used: no mark is that of this program
		}
		s.next = r >> 40
	})
}

// randomMark returns the random bits of a markSource. A test can give two programs
// the same ones.
var randomMark = func() uint64 {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return binary.NativeEndian.Uint64(random[:])
}

// take returns a mark that no live tree has, or 0 if there is none.
func (s *markSource) take() mark {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	if uint64(len(s.live)) >= s.counts {
		return 0
	}
	for {
		m := s.base | mark(s.next%s.counts)<<s.shift
		if s.shift > 0 {
			m |= innerSpace
		}
		s.next++
		if _, taken := s.live[m]; !taken {
			s.live[m] = struct{}{}
			return m
		}
	}
}

// free gives a mark back when nothing has it any more.
func (s *markSource) free(m mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, m)
}

// program returns the part of a mark that all marks of one program have in common.
func (s *markSource) program(m mark) mark {
	if s.nested() {
		return m >> innerShift
	}
	return m >> outerShift
}

// isOurs reports whether a mark is of this program.
func (s *markSource) isOurs(m mark) bool { return s.program(m) == s.program(s.base) }

// key returns the part of a mark that is the same for all members of a tree,
// also for those that a manager in that tree has marked.
func (s *markSource) key(m mark) mark { return m >> s.shift }

// nested reports whether this program runs in a tree of another manager and has
// few bits for its own.
func (s *markSource) nested() bool { return s.counts == 1<<innerShift }

// If a mark belongs to no tree of a search, it says one of these about a process.
const (
	markSaysNothing   = iota // it may be an unmarked member of any tree
	markOfAnotherTree        // of this program
	markOfAStranger
)

func (s *markSource) says(m mark) int {
	s.init()
	switch {
	case m == s.own || !m.tagged():
		return markSaysNothing
	case s.counts > 0 && s.isOurs(m):
		return markOfAnotherTree
	}
	return markOfAStranger
}

// set marks a process: its hard limit, and its soft one, which PAM resets alone
// at su. It reports whether the process has the mark now. A setuid program of
// another user cannot be marked, nor a process of this program if that may not
// set limits, and a 32-bit kernel has no room for a mark.
func (m mark) set(pid int) bool {
	limit := unix.Rlimit{Cur: uint64(m), Max: uint64(m)}
	if unix.Prlimit(pid, rlimitLocks, &limit, nil) != nil {
		return false
	}
	var now unix.Rlimit
	return unix.Prlimit(pid, rlimitLocks, nil, &now) == nil && now == limit
}

// setAll marks a process that runs already, and all its descendants: each of
// them before its children are listed, so that the next child inherits the
// mark. It misses a process that has left its parent before that.
func (m mark) setAll(pid int) bool {
	if !m.set(pid) {
		return false
	}
	parents := []int{pid}
	for len(parents) > 0 {
		parent := parents[0]
		parents = parents[1:]
		for _, child := range children(parent) {
			held, ok := openMember(child, false)
			if !ok {
				continue
			}
			// While the child is held and has not exited, the number is its
			// own. It is checked before the number is used, and not after.
			if p, _ := procstat.Look(child); p.Parent == parent && held.alive() && m.set(child) {
				parents = append(parents, child)
			}
			held.close()
		}
	}
	return true
}

// markOf reads the mark of a process. ok is false if the process has gone, or if
// nothing tells its limits.
func markOf(pid int) (m mark, ok bool) {
	var limit unix.Rlimit
	switch unix.Prlimit(pid, rlimitLocks, nil, &limit) {
	case nil:
		return mark(limit.Max), true
	case unix.EPERM:
		return markOfAnother(pid)
	}
	return 0, false
}

// markOfAnother reads the mark of another user's process, or of a setgid one.
func markOfAnother(pid int) (m mark, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0, false
	}
	_, line, found := bytes.Cut(text, []byte("\nMax file locks "))
	fields := bytes.Fields(line)
	if !found || len(fields) < 2 {
		return 0, false
	}
	hard, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return ^mark(0), true // "unlimited"
	}
	return mark(hard), true
}
