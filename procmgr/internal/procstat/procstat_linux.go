package procstat

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
	"unsafe"
)

// forkNoExec is PF_FORKNOEXEC of the kernel. A fork sets it, and an exec clears it
// before the first instruction of the new program.
const forkNoExec = 0x40

// exiting is PF_EXITING of the kernel.
const exiting = 0x4

// trusted reports whether the flags mean what they mean on Linux: this program has
// reached its exec.
var trusted = sync.OnceValue(func() bool {
	_, flags, ok := read(dirOf(os.Getpid()))
	return ok && flags != 0 && flags&forkNoExec == 0
})

// Look returns the facts that the system tells about a process. It reports false if
// there is none, or if the system does not tell.
func Look(pid int) (p Process, ok bool) {
	p, flags, ok := read(dirOf(pid))
	p.Unborn = ok && flags&forkNoExec != 0 && trusted()
	p.Exiting = ok && flags&exiting != 0
	return p, ok
}

// LookAtThread is Look for one thread, whose directory below /proc it takes.
func LookAtThread(dir string) (p Process, ok bool) {
	p, _, ok = read(dir)
	return p, ok
}

func dirOf(pid int) string { return "/proc/" + strconv.Itoa(pid) }

// RanFor returns for how many nanoseconds all threads of a process have run, or -1 if
// the system does not tell. A thread that runs at this moment may count as one that
// has not, until the kernel's next tick.
func RanFor(pid int) int64 {
	const sched = 2 // CPUCLOCK_SCHED, see clock_getcpuclockid(3)
	clock := ^int32(pid)<<3 | sched
	var ran syscall.Timespec
	// The call does not block, so the goroutine need not offer its processor to
	// others, which it may not get back soon.
	_, _, err := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&ran)), 0)
	if err != 0 {
		return -1
	}
	return ran.Nano()
}

// These are fields of /proc/PID/stat, counted from the third on.
const (
	fieldState    = 0
	fieldParent   = 1
	fieldGroup    = 2
	fieldSession  = 3
	fieldTerminal = 4
	fieldFlags    = 6
	fieldThreads  = 17
	fieldStart    = 19
	fieldEnviron  = 47 // and the next one
)

func read(dir string) (p Process, flags uint64, ok bool) {
	var buf [1024]byte
	fd, err := syscall.Open(dir+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
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
		Group:   int(number(fieldGroup)),
		Session: int(number(fieldSession)),
		Threads: int(number(fieldThreads)),
		Start:   number(fieldStart),
		Environ: [2]uint64{number(fieldEnviron), number(fieldEnviron + 1)},
		// The kernel's new_encode_dev, and the form of stat(2).
		Terminal: device(number(fieldTerminal)>>8&0xfff, number(fieldTerminal)&0xff|number(fieldTerminal)>>12&0xfff00),
	}, number(fieldFlags), number(fieldStart) > 0
}

// device returns a device number in the form of stat(2).
func device(major, minor uint64) uint64 {
	return major&0xfff<<8 | minor&0xff | minor&^0xff<<12 | major&^0xfff<<32
}
