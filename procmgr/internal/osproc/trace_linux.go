package osproc

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errUntraced says that a leader could not be stopped before its first
// instruction. Nothing of it has run.
var errUntraced = errors.New("it cannot be traced")

// startTraced starts a program and marks it before its first instruction, so
// that everything it starts has the mark. It also unblocks the signals that this
// program blocks: a child inherits that, and no exec resets it. The kernel stops a
// program that is traced at its exec; it is traced for that moment alone, by the
// thread that has forked it. If the system forbids that, the error is errUntraced.
func (l *leader) startTraced(file string, argv []string, attr *syscall.ProcAttr) error {
	if gainsPrivilege(file) {
		return errUntraced
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr.Sys.Ptrace = true
	defer func() { attr.Sys.Ptrace = false }()
	pid, _, err := syscall.StartProcess(file, argv, attr)
	if err == unix.EPERM {
		return errUntraced
	}
	if err != nil {
		return err
	}
	if !awaitExec(pid) {
		// A filter of system calls has ended it, and not the program.
		return errUntraced
	}
	l.pid = pid
	l.whole = l.mark != 0 && l.marks(l.mark.set)
	unblockSignals(pid)
	_ = unix.PtraceDetach(pid)
	return nil
}

// awaitExec waits until a traced child stops at its exec, and reports whether it
// has. The child is about to: its exec has succeeded.
//
// If another part of the program waits for any child, as one does that runs as
// PID 1, it may be told of the stop in place of awaitExec. So awaitExec does not
// wait to be told, but asks.
func awaitExec(pid int) bool {
	for looks := 0; ; looks++ {
		var status unix.WaitStatus
		got, err := unix.Wait4(pid, &status, unix.WALL|unix.WNOHANG, nil)
		sig, stopped := stopSignal(pid)
		if err == nil && got == pid && status.Stopped() {
			sig, stopped = status.StopSignal(), true
		}
		switch {
		case stopped && sig != unix.SIGTRAP:
			_ = unix.PtraceCont(pid, int(sig)) // fails only if it has been killed
		case stopped:
			return true
		case err != nil && err != unix.EINTR, got == pid:
			return false
		case looks < 50:
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		default:
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil) // a signal may end it
		}
	}
}

// stopSignal returns the signal at which a traced child has stopped, if it has.
func stopSignal(pid int) (sig syscall.Signal, stopped bool) {
	var info unix.Siginfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(pid), 0, uintptr(unsafe.Pointer(&info)), 0, 0)
	return syscall.Signal(info.Signo), errno == 0
}

// blocksSignals reports whether this program blocks signals. Package runtime goes
// on to block those that were blocked from the beginning, in all of its threads.
func blocksSignals() bool {
	var blocked unix.Sigset_t
	return unix.PthreadSigmask(unix.SIG_BLOCK, nil, &blocked) == nil && blocked != unix.Sigset_t{}
}

// unblockSignals unblocks all signals of a traced child that has stopped.
func unblockSignals(pid int) {
	var none uint64 // the kernel's sigset_t
	// This fails only if the child has been killed.
	_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGMASK, uintptr(pid), unsafe.Sizeof(none), uintptr(unsafe.Pointer(&none)), 0, 0)
}

// gainsPrivilege reports whether an exec of a file gives the process another
// user, another group or capabilities. It would not if the process were traced.
func gainsPrivilege(file string) bool {
	var stat unix.Stat_t
	if unix.Stat(file, &stat) != nil || stat.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		return true
	}
	_, err := unix.Getxattr(file, "security.capability", nil)
	return err == nil
}
