package procstat

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
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
	fieldUser    = 11
	fieldSystem  = 12
	fieldThreads = 17
	fieldStart   = 19
	fieldRSS     = 21 // in pages
	fieldEnviron = 47 // and the next one
)

// userTicks is how many ticks of a second the kernel counts for programs, on every
// platform of Go: see USER_HZ in time(7).
const userTicks = 100

// LookUse returns what the system tells of the work of a process. It reports false if
// there is none, or if the system does not tell.
func LookUse(pid int) (u Use, ok bool) {
	var buf [1024]byte
	name, fields, ok := stat(pid, buf[:])
	if !ok {
		return u, false
	}
	return Use{
		Parent: int(number(fields[fieldParent])),
		Name:   strings.ToValidUTF8(string(name), "\uFFFD"),
		User:   time.Duration(number(fields[fieldUser])) * (time.Second / userTicks),
		System: time.Duration(number(fields[fieldSystem])) * (time.Second / userTicks),
		Memory: int64(number(fields[fieldRSS])) * int64(os.Getpagesize()),
	}, true
}

func read(pid int) (p Process, flags uint64, ok bool) {
	var buf [1024]byte
	_, fields, ok := stat(pid, buf[:])
	if !ok {
		return p, 0, false
	}
	return Process{
		State:   fields[fieldState][0],
		Parent:  int(number(fields[fieldParent])),
		Session: int(number(fields[fieldSession])),
		Threads: int(number(fields[fieldThreads])),
		Start:   number(fields[fieldStart]),
		Environ: [2]uint64{number(fields[fieldEnviron]), number(fields[fieldEnviron+1])},
	}, number(fields[fieldFlags]), number(fields[fieldStart]) > 0
}

// stat reads the name of a process and its other fields, from the third on, into buf.
func stat(pid int, buf []byte) (name []byte, fields [][]byte, ok bool) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, false
	}
	n, err := syscall.Read(fd, buf)
	_ = syscall.Close(fd)
	if err != nil || n <= 0 {
		return nil, nil, false
	}
	begin, end := bytes.IndexByte(buf[:n], '('), bytes.LastIndexByte(buf[:n], ')') // the name may contain anything
	fields = bytes.Fields(buf[end+1 : n])
	if begin < 0 || end < begin || len(fields) <= fieldEnviron+1 || len(fields[fieldState]) != 1 {
		return nil, nil, false
	}
	return buf[begin+1 : end], fields, true
}

func number(field []byte) uint64 {
	n, _ := strconv.ParseUint(string(field), 10, 64) // the kernel writes a number
	return n
}
