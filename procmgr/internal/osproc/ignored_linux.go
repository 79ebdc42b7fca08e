package osproc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignoredUnknown reports whether this program ignores a signal. [signal.Ignored]
// does not know of SIGTSTP and SIGCONT that were ignored from the beginning, of a
// signal that C code ignores, and of SIGHUP after a signal.Notify and a
// signal.Stop.
func ignoredUnknown(sig syscall.Signal) bool {
	const sigIgn = 1
	// An architecture that has another struct sigaction, or more signals, refuses
	// the size of the mask.
	var action struct {
		handler         uintptr
		flags, restorer uintptr
		mask            uint64
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&action)), unsafe.Sizeof(action.mask), 0, 0)
	return errno == 0 && action.handler == sigIgn
}
