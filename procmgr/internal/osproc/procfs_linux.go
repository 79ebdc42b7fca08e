package osproc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// A procfs is /proc while a search looks through it.
type procfs struct {
	dir  int
	load *os.File // nil if there is none, as with ProcSubset=pid of systemd
	buf  [32 << 10]byte
}

// openProcfs fails if no descriptor is left, or if checkProcfs does.
func openProcfs() (*procfs, error) {
	if err := checkProcfs(); err != nil {
		return nil, err
	}
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	load, err := os.Open("/proc/loadavg")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		unix.Close(dir)
		return nil, err
	}
	return &procfs{dir: dir, load: load}, nil
}

// checkProcfs returns an error if /proc does not show the processes of this program's PID
// namespace. In that of another one, a number is that of another process, or of none.
func checkProcfs() error {
	const advice = "mount a /proc for this program's PID namespace, or set Options.Cgroup"
	self, err := os.Readlink("/proc/self")
	switch {
	case err != nil:
		return xerrors.Errorf("/proc cannot be used: it does not show this program (%v); %s: %w", err, advice, errors.ErrUnsupported)
	case self != strconv.Itoa(os.Getpid()):
		return xerrors.Errorf("/proc cannot be used: it is that of another PID namespace, where this program is %s and not %d; %s: %w", self, os.Getpid(), advice, errors.ErrUnsupported)
	}
	return nil
}

func (p *procfs) close() {
	unix.Close(p.dir)
	if p.load != nil {
		p.load.Close()
	}
}

// newest returns the number that the kernel gave out last, to a process or to a
// thread: the last field of loadavg, see proc(5). As long as it stays the same,
// nothing has forked. newest returns 0 if the system does not tell, as gVisor
// does not.
func (p *procfs) newest() int {
	if p.load == nil {
		return 0
	}
	n, err := p.load.ReadAt(p.buf[:], 0)
	if n == 0 && err != nil {
		return 0
	}
	text := bytes.TrimSpace(p.buf[:n])
	last, err := strconv.Atoi(string(text[bytes.LastIndexByte(text, ' ')+1:]))
	if err != nil {
		return 0
	}
	return last
}

// firstProcess is the position in the listing of /proc of process 0, as the
// kernel counts it: FIRST_PROCESS_ENTRY and two more.
const firstProcess = 256 + 2

// each calls f for the processes with the numbers from first to last, in their
// order. inode is the number of the process's directory in /proc. No two
// processes with the same number have the same inode. It is 1 if the system does
// not tell.
func (p *procfs) each(first, last int, f func(pid int, inode uint64)) error {
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
			entry := rest[:length]
			rest = rest[length:]
			name, _, _ := bytes.Cut(entry[19:], []byte{0})
			pid, err := strconv.Atoi(string(name))
			if err != nil || pid < first {
				continue
			}
			if pid > last {
				return nil
			}
			f(pid, binary.NativeEndian.Uint64(entry))
		}
	}
}

// sessionOf returns the session of a process, or -1 if the process has gone.
func sessionOf(pid int) int {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return sid
}

// children returns the children of a process's first thread, if the kernel tells
// them (CONFIG_PROC_CHILDREN).
func children(pid int) (all []int) {
	n := strconv.Itoa(pid)
	text, _ := os.ReadFile("/proc/" + n + "/task/" + n + "/children") // a process that has gone has none
	for field := range bytes.FieldsSeq(text) {
		if child, err := strconv.Atoi(string(field)); err == nil {
			all = append(all, child)
		}
	}
	return all
}
