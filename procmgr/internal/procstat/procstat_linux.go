package procstat

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// exiting is PF_EXITING of the kernel.
const exiting = 0x4

// Look returns the facts that the system tells about a process. It reports false if
// there is none, or if the system does not tell.
func Look(pid int) (Process, bool) { return LookAtThread(dirOf(pid)) }

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
	fieldTerminal = 4
	fieldFlags    = 6
	fieldEnviron  = 47 // and the next one
)

// Children returns the children of a thread, whose directory below /proc it gets, if the
// kernel tells them (CONFIG_PROC_CHILDREN).
func Children(thread string) (all []int) {
	text, _ := os.ReadFile(thread + "/children") // a thread that has ended has none
	for field := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// LookAtThread is Look for one thread, whose directory below /proc it takes.
func LookAtThread(dir string) (p Process, ok bool) {
	var buf [1024]byte
	fields, ok := stat(dir, buf[:])
	if !ok {
		return p, false
	}
	terminal := number(fields[fieldTerminal])
	return Process{
		State:   fields[fieldState][0],
		Parent:  int(number(fields[fieldParent])),
		Group:   int(number(fields[fieldGroup])),
		Exiting: number(fields[fieldFlags])&exiting != 0,
		Environ: [2]uint64{number(fields[fieldEnviron]), number(fields[fieldEnviron+1])},
		// The kernel's new_encode_dev, and the form of stat(2).
		Terminal: device(terminal>>8&0xfff, terminal&0xff|terminal>>12&0xfff00),
	}, true
}

// stat reads the fields of a process, from the third on, into buf.
func stat(dir string, buf []byte) (fields [][]byte, ok bool) {
	fd, err := syscall.Open(dir+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	n, err := syscall.Read(fd, buf)
	_ = syscall.Close(fd)
	if err != nil || n <= 0 {
		return nil, false
	}
	end := bytes.LastIndexByte(buf[:n], ')') // the name may contain anything
	if end < 0 {
		return nil, false
	}
	fields = bytes.Fields(buf[end+1 : n])
	if len(fields) <= fieldEnviron+1 || len(fields[fieldState]) != 1 {
		return nil, false
	}
	return fields, true
}

func number(field []byte) uint64 {
	n, _ := strconv.ParseUint(string(field), 10, 64) // the kernel writes a number
	return n
}

// device returns a device number in the form of stat(2).
func device(major, minor uint64) uint64 {
	return major&0xfff<<8 | minor&0xff | minor&^0xff<<12 | major&^0xfff<<32
}
