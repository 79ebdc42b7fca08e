package procstat

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// forkNoExec is PF_FORKNOEXEC of the kernel. A fork sets it, and an exec clears it
// before the first instruction of the new program.
const forkNoExec = 0x40

// exiting is PF_EXITING of the kernel.
const exiting = 0x4

// trusted reports whether the flags mean what they mean on Linux: this program has
// reached its exec.
var trusted = sync.OnceValue(func() bool {
	_, flags, ok := read(os.Getpid())
	return ok && flags != 0 && flags&forkNoExec == 0
})

// Look returns the facts that the system tells about a process. It reports false if
// there is none, or if the system does not tell.
func Look(pid int) (p Process, ok bool) {
	p, flags, ok := read(pid)
	p.Unborn = ok && flags&forkNoExec != 0 && trusted()
	p.Exiting = ok && flags&exiting != 0
	return p, ok
}

// These are fields of /proc/PID/stat, counted from the third on.
const (
	fieldState   = 0
	fieldParent  = 1
	fieldSession = 3
	fieldFlags   = 6
	fieldThreads = 17
	fieldStart   = 19
	fieldEnviron = 47 // and the next one
)

func read(pid int) (p Process, flags uint64, ok bool) {
	var buf [1024]byte
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return p, 0, false
	}
	n, err := syscall.Read(fd, buf[:])
	_ = syscall.Close(fd)
	if err != nil || n <= 0 {
		return p, 0, false
	}
	fields := bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n]) // the name may contain anything
	if len(fields) <= fieldEnviron+1 || len(fields[fieldState]) != 1 {
		return p, 0, false
	}
	number := func(field int) uint64 {
		n, _ := strconv.ParseUint(string(fields[field]), 10, 64) // the kernel writes a number
		return n
	}
	return Process{
		State:   fields[fieldState][0],
		Parent:  int(number(fieldParent)),
		Session: int(number(fieldSession)),
		Threads: int(number(fieldThreads)),
		Start:   number(fieldStart),
		Environ: [2]uint64{number(fieldEnviron), number(fieldEnviron + 1)},
	}, number(fieldFlags), number(fieldStart) > 0
}
