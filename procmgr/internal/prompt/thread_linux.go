package prompt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A call is a system call in which a thread can sleep.
type call int

const (
	other   call = iota // the thread may go on by itself
	idle                // it waits until another thread, or the kernel, wakes it
	nap                 // it sleeps for a time
	read                // of the descriptor that is the first argument
	poll                // for milliseconds, and
	ppoll               // for the time to which the third argument points
	selects             // and pselect
	epoll               // for milliseconds, and
	epoll2              // for the time to which the fourth argument points
)

// A sleep is the system call in which a thread sleeps.
type sleep struct {
	task string // the directory of the thread
	call call
	args [6]uint64
	text string // as the system has written it
}

// runs reports whether the thread has been woken since. On a busy machine it may not run
// for seconds yet.
func (s sleep) runs() bool {
	now, ok := sleepOf(s.task)
	return !ok || now.text != s.text
}

// sleepOf returns the call in which a thread sleeps. It reports false if the thread
// runs, or if the system does not tell.
func sleepOf(task string) (s sleep, ok bool) {
	var buf [256]byte
	text, ok := slurp(task+"/syscall", buf[:])
	if !ok {
		return s, false
	}
	fields := bytes.Fields(text)
	// The number, six arguments, and the two pointers to the stack and the code.
	if len(fields) != 9 {
		return s, false
	}
	n, err := strconv.Atoi(string(fields[0]))
	if err != nil {
		return s, false
	}
	for i := range s.args {
		if s.args[i], ok = hex(fields[1+i]); !ok {
			return s, false
		}
	}
	// A program for 32 bits has its stack there, and other numbers.
	if stack, ok := hex(fields[7]); !ok || stack <= math.MaxUint32 {
		return s, false
	}
	s.task, s.call, s.text = task, calls[n], string(text)
	return s, true
}

func hex(field []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(bytes.TrimPrefix(field, []byte("0x"))), 16, 64)
	return n, err == nil
}

// slurp reads the beginning of a file of /proc.
func slurp(path string, buf []byte) ([]byte, bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	n := 0
	for n < len(buf) {
		got, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, false
		}
		if got == 0 {
			break
		}
		n += got
	}
	return buf[:n], n > 0
}

// A pollEntry is a descriptor for which a program waits in a poll, a select or an epoll.
type pollEntry struct {
	fd    int
	reads bool // until it can be read
	file  file // an epoll entry's file, which may differ from the descriptor's by now
}

// readNormal is POLLRDNORM, which the system takes for POLLIN.
const readNormal = 0x40

// maxWatched is how many descriptors of one wait are looked at.
const maxWatched = 256

// forever is the timeout of a wait that has none.
const forever time.Duration = math.MaxInt64

// watchedBy returns the descriptors of a wait, and its timeout in whole seconds.
func watchedBy(pid int, s sleep) (all []pollEntry, timeout time.Duration, ok bool) {
	switch s.call {
	case poll:
		all, ok = polled(pid, s.args[0], s.args[1])
		return all, milliseconds(s.args[2]), ok
	case ppoll:
		all, ok = polled(pid, s.args[0], s.args[1])
		return all, seconds(pid, s.args[2]), ok
	case selects:
		all, ok = selected(pid, s.args)
		return all, seconds(pid, s.args[4]), ok
	case epoll:
		all, ok = entered(pid, s.args[0])
		return all, milliseconds(s.args[3]), ok
	case epoll2:
		all, ok = entered(pid, s.args[0])
		return all, seconds(pid, s.args[3]), ok
	}
	return nil, 0, false
}

func milliseconds(arg uint64) time.Duration {
	if n := int32(arg); n >= 0 {
		return time.Duration(n) * time.Millisecond
	}
	return forever
}

// seconds reads the first field of a struct timespec or timeval. If it cannot be
// read, the timeout counts as short.
func seconds(pid int, at uint64) time.Duration {
	if at == 0 {
		return forever
	}
	var mem [8]byte
	if !peek(pid, at, mem[:]) {
		return 0
	}
	return time.Duration(min(binary.NativeEndian.Uint64(mem[:]), math.MaxInt32)) * time.Second
}

// polled reads an array of struct pollfd.
func polled(pid int, at, n uint64) (all []pollEntry, ok bool) {
	const size = 8
	if n > maxWatched {
		return nil, false
	}
	mem := make([]byte, n*size)
	if !peek(pid, at, mem) {
		return nil, false
	}
	for ; len(mem) > 0; mem = mem[size:] {
		if fd := int32(binary.NativeEndian.Uint32(mem)); fd >= 0 {
			events := binary.NativeEndian.Uint16(mem[4:])
			all = append(all, pollEntry{fd: int(fd), reads: events&(unix.POLLIN|readNormal) != 0})
		}
	}
	return all, true
}

// selected reads the three sets of a select.
func selected(pid int, args [6]uint64) (all []pollEntry, ok bool) {
	n := args[0]
	if n > 4*maxWatched {
		return nil, false
	}
	for i, at := range args[1:4] {
		if at == 0 {
			continue
		}
		mem := make([]byte, (n+63)/64*8)
		if !peek(pid, at, mem) {
			return nil, false
		}
		for fd := range int(n) {
			if binary.NativeEndian.Uint64(mem[fd/64*8:])>>(fd%64)&1 != 0 {
				all = append(all, pollEntry{fd: fd, reads: i == 0})
			}
		}
	}
	return all, len(all) <= maxWatched
}

// entryFormat is a line of an epoll's file in /proc/PID/fdinfo. The device is the
// kernel's own number: its lowest 20 bits are the minor one.
const entryFormat = "tfd: %d events: %x data: %x pos:%d ino:%x sdev:%x"

// entered reads the entries of an epoll.
func entered(pid int, fd uint64) (all []pollEntry, ok bool) {
	var buf [maxWatched * 96]byte
	text, ok := slurp("/proc/"+strconv.Itoa(pid)+"/fdinfo/"+strconv.FormatUint(fd, 10), buf[:])
	if !ok || len(text) == len(buf) {
		return nil, false
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "tfd:") {
			continue
		}
		var w pollEntry
		var events, data, device uint64
		var pos int64
		if _, err := fmt.Sscanf(line, entryFormat, &w.fd, &events, &data, &pos, &w.file.inode, &device); err != nil {
			return nil, false
		}
		w.file.device = unix.Mkdev(uint32(device>>20), uint32(device&(1<<20-1)))
		w.reads = events&(unix.EPOLLIN|readNormal) != 0 && events&unix.EPOLLET == 0
		all = append(all, w)
	}
	return all, true
}

// peek reads the memory of a process.
func peek(pid int, at uint64, mem []byte) bool {
	if len(mem) == 0 {
		return true
	}
	local := []unix.Iovec{{Base: &mem[0]}}
	local[0].SetLen(len(mem))
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(mem)}}, 0)
	return err == nil && n == len(mem)
}
