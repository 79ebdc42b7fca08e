package osproc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// A procfs is /proc, kept open so that a search needs no descriptor for it.
type procfs struct {
	dir  int
	load int // -1 if there is none, as with ProcSubset=pid of systemd
	// lap is the shortest time in which the kernel can give out all numbers of
	// processes, so that it begins again with the lowest ones; 0 if that is unknown.
	lap time.Duration
	// older has the processes that ran when this was opened, and the inodes of their
	// directories. No other process with such a number ever has the same inode. They
	// are never members, because these are started later.
	older map[int]uint64
	buf   [1 << 10]byte // small, so that what is listed is looked at soon
}

// leastFork is less time than a processor needs to start and end a thread.
const leastFork = 8 * time.Microsecond

// openProcfs fails if no descriptor is left, or if /proc does not show the processes of
// this program's PID namespace: in another namespace, a number stands for another
// process, or for none. The latter error is [errors.ErrUnsupported].
func openProcfs() (*procfs, error) {
	const advice = "mount a /proc for this program's PID namespace, or set Options.Cgroup"
	self, err := os.Readlink("/proc/self")
	switch {
	case err != nil:
		return nil, xerrors.Errorf("/proc cannot be used: it does not show this program (%v); %s: %w", err, advice, errors.ErrUnsupported)
	case self != strconv.Itoa(os.Getpid()):
		return nil, xerrors.Errorf("/proc cannot be used: it is that of another PID namespace, where this program is %s and not %d; %s: %w", self, os.Getpid(), advice, errors.ErrUnsupported)
	}
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p := &procfs{dir: dir}
	if p.load, err = unix.Open("/proc/loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		p.load = -1
	}
	most, _ := os.ReadFile("/proc/sys/kernel/pid_max")
	if n, err := strconv.Atoi(string(bytes.TrimSpace(most))); err == nil {
		p.lap = time.Duration(n) * leastFork / time.Duration(processors())
	}
	older := make(map[int]uint64)
	if err := p.list(1, func(pid int, inode uint64) { older[pid] = inode }); err != nil {
		p.close()
		return nil, err
	}
	p.older = older
	return p, nil
}

func (p *procfs) close() {
	unix.Close(p.dir)
	if p.load >= 0 {
		unix.Close(p.load)
	}
}

// newest returns the number that the kernel gave out last, to a process or to a
// thread: the last field of loadavg, see proc(5). As long as it stays the same,
// nothing has forked. newest returns 0 if the system does not tell, as gVisor
// does not.
func (p *procfs) newest() int {
	var buf [128]byte
	n, err := unix.Pread(p.load, buf[:], 0)
	if err != nil {
		return 0
	}
	text := bytes.TrimSpace(buf[:n])
	last, err := strconv.Atoi(string(text[bytes.LastIndexByte(text, ' ')+1:]))
	if err != nil {
		return 0
	}
	return last
}

// processors returns how many processors the machine has, or more.
func processors() int {
	text, _ := os.ReadFile("/proc/cpuinfo")
	return max(bytes.Count(text, []byte("\nprocessor")), runtime.NumCPU()) + 1
}

// fewNumbers is so few that asking for each is cheaper than a listing, for which the
// kernel makes an entry of /proc for each process.
const fewNumbers = 256

// each calls f for the processes with the numbers from first on, in their order,
// without the older ones. newest is the number that was given out last, or 0 if that is
// unknown. f may also be called with the number of a thread.
func (p *procfs) each(first, newest int, f func(pid int)) error {
	for at := first; first > 1 && newest >= at-1 && newest-at < fewNumbers; newest = p.newest() {
		if at > newest {
			return nil
		}
		for ; at <= newest; at++ {
			if _, ok := sidOf(at); ok {
				f(at)
			}
		}
	}
	return p.list(first, func(pid int, inode uint64) {
		if known, ok := p.older[pid]; !ok || known != inode || inode <= 1 { // 1: the system does not tell
			f(pid)
		}
	})
}

func (p *procfs) list(first int, f func(pid int, inode uint64)) error {
	// firstProcess is the position in the listing of /proc of process 0, as the
	// kernel counts it: FIRST_PROCESS_ENTRY and two more.
	const firstProcess = 256 + 2
	at := int64(0)
	if first > 1 {
		at = int64(first) + firstProcess
	}
	if _, err := unix.Seek(p.dir, at, unix.SEEK_SET); err != nil {
		return err
	}
	for {
		n, err := unix.Getdents(p.dir, p.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		// An entry is a struct linux_dirent64: inode, offset, length, type and
		// name, see getdents(2).
		for rest := p.buf[:n]; len(rest) > 19; {
			length := binary.NativeEndian.Uint16(rest[16:])
			name, _, _ := bytes.Cut(rest[19:length], []byte{0})
			inode := binary.NativeEndian.Uint64(rest)
			rest = rest[length:]
			if pid, err := strconv.Atoi(string(name)); err == nil && pid >= first {
				f(pid, inode)
			}
		}
	}
}
