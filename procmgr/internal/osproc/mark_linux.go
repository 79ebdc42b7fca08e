package osproc

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// A mark tells to which tree a process belongs: 4 bits of a tag and 60 random bits.
// It is a value of RLIMIT_LOCKS, the limit on the number of file locks. The kernel
// has enforced no such limit since Linux 2.4.25, but it still keeps one for each
// process. A child inherits it, whatever becomes of its session, its environment and
// its user, and any process may read it. Without privilege it can only be lowered.
//
// A leader is marked when it runs already, so it may have forked before. Therefore
// the thread that forks it also has a scheduler slice of the tree's own meanwhile
// (sched_setattr(2), Linux 6.12), which every descendant inherits as well: a process
// with the slice and without a mark is a member too. On older kernels such a process
// is marked a moment later, if it is found then, and the tree is unsure.
//
// A manager that runs in a tree of another one keeps the mark that it finds, so that
// the outer manager finds everything. Its trees have their slices, and no mark. As long
// as it has no mark itself, it keeps the slice that it finds, too.
type mark uint64 // 0 is no mark

const (
	markTag     = 0x5 << 60
	tagBits     = 0xf << 60
	sliceBits   = 1<<20 - 1 // of a mark: by how many nanoseconds, less one, its slice is longer than others
	rlimitLocks = 10        // RLIMIT_LOCKS of setrlimit(2), which x/sys names only for some architectures
)

func (m mark) tagged() bool { return m&tagBits == markTag }

// slice returns the slice of the tree with a mark, or 0 if the system has none.
func (m mark) slice() uint64 {
	if base := slicing().base; base > 0 && m != 0 {
		return base + 1 + uint64(m&sliceBits)
	}
	return 0
}

// marks has the marks of this program's trees. It is one for all Systems, because
// no two trees of a program may have the same slice.
var marks = struct {
	mu   sync.Mutex // guards live; held for moments
	live map[mark]struct{}
}{live: make(map[mark]struct{})}

// takeMark returns a mark whose slice no other tree of this program has.
func takeMark() mark {
	marks.mu.Lock()
	defer marks.mu.Unlock()
	for {
		var random [8]byte
		_, _ = rand.Read(random[:]) // never fails
		m := mark(binary.NativeEndian.Uint64(random[:]))&^tagBits | markTag
		if _, taken := marks.live[m&sliceBits]; !taken {
			marks.live[m&sliceBits] = struct{}{}
			return m
		}
	}
}

// free gives a mark back when its tree has ended.
func (m mark) free() {
	marks.mu.Lock()
	defer marks.mu.Unlock()
	delete(marks.live, m&sliceBits)
}

// ownMark returns the limit of this program itself: a mark if it runs in a tree of
// another manager. It may get that only when it runs already.
func ownMark() mark {
	m, _ := markOf(os.Getpid())
	return m
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
	n := strconv.Itoa(pid)
	for _, child := range procstat.Children("/proc/" + n + "/task/" + n) {
		held, err := openMember(child)
		if err != nil {
			continue
		}
		// While the child is held and has not exited, the number is its
		// own. It is checked before the number is used, and not after.
		if p, _ := procstat.Look(child); p.Parent == pid && held.alive() {
			m.setAll(child)
		}
		held.close()
	}
	return true
}

// markLate marks a leader that has no slice. It reports whether nothing was forked before
// that. The leader is stopped meanwhile, mostly before it has run anything. Or else a fork
// could be under way, whose child has copied the limits and has no number yet: such a fork
// ends before the leader stops. If a number was given away, the tree is marked again after
// a while, because a child of the leader may be forking too.
func (s *session) markLate(newest func() int) (intime bool) {
	leader := member{pid: s.pid, fd: s.fd}
	stopped := leader.stop()
	defer func() { _ = leader.signal(unix.SIGCONT) }()
	if !s.mark.set(s.pid) {
		return false
	}
	if stopped && newest() == s.pid {
		return true // no number was given away since
	}
	again := func() {
		s.num.Lock()
		defer s.num.Unlock()
		if !s.reaped {
			s.mark.setAll(s.pid)
		}
	}
	again()
	for _, after := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond} {
		time.AfterFunc(after, again)
	}
	return false
}

// markOf reads the mark of a process. ok is false if the process has gone, or if
// nothing tells its limits.
func markOf(pid int) (m mark, ok bool) {
	var limit unix.Rlimit
	_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, uintptr(pid), rlimitLocks, 0, uintptr(unsafe.Pointer(&limit)), 0, 0)
	switch errno {
	case 0:
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

// sliceOf returns the scheduler slice of a process in nanoseconds, or 0 if it has
// none.
func sliceOf(pid int) uint64 {
	var a unix.SchedAttr
	_, _, errno := unix.RawSyscall6(unix.SYS_SCHED_GETATTR, uintptr(pid), uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0, 0, 0)
	if errno != 0 || a.Policy != unix.SCHED_NORMAL && a.Policy != unix.SCHED_BATCH {
		return 0
	}
	return a.Runtime
}

// setSlice gives this thread a slice, or the system's slice if it is 0, and returns the
// previous one. It reports false if the thread did not get it.
func setSlice(slice uint64) (before uint64, ok bool) {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy != unix.SCHED_NORMAL && a.Policy != unix.SCHED_BATCH {
		return 0, false
	}
	before, a.Runtime = a.Runtime, slice
	if unix.SchedSetAttr(0, a, 0) != nil {
		return before, false
	}
	return before, slice == 0 || sliceOf(0) == slice
}

// slicing returns the slice of a thread that has none of its own, and the one that this
// program has. base is 0 if the kernel has no slices that can be set, or if this program
// may not set them.
var slicing = sync.OnceValue(func() (s struct{ base, own uint64 }) {
	done := make(chan struct{})
	go func() { // waited for below
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		own, ok := setSlice(0)
		base := sliceOf(0)
		if !ok || base == 0 {
			return
		}
		if _, ok := setSlice(base + 1 + sliceBits); ok {
			s.base, s.own = base, own
		}
	}()
	<-done
	return s
})

// withSlice calls f on a thread that has a slice, or on any one if slice is 0. It
// reports whether what f forks has the slice.
func withSlice(slice uint64, f func() error) (has bool, err error) {
	if slice > 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var before uint64
		if before, has = setSlice(slice); before == slicing().base {
			before = 0
		}
		defer func() { _, _ = setSlice(before) }()
	}
	return has, f()
}
