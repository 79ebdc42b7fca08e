package osproc

import (
	"errors"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// errUntraced says that a leader could not be stopped before its first
// instruction. Nothing of it has run.
var errUntraced = errors.New("it cannot be traced")

// startMarked starts a program and marks it before its first instruction, so
// that everything it starts has the mark. The kernel stops a program that is
// traced at its exec; it is traced for that moment alone, by the thread that has
// forked it. If the system forbids that, the error is errUntraced.
func startMarked(m mark, file string, argv []string, attr *syscall.ProcAttr) (pid int, marked bool, err error) {
	if gainsPrivilege(file) {
		return 0, false, errUntraced
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr.Sys.Ptrace = true
	defer func() { attr.Sys.Ptrace = false }()
	pid, _, err = syscall.StartProcess(file, argv, attr)
	if err == unix.EPERM {
		return 0, false, errUntraced
	}
	if err != nil {
		return 0, false, err
	}
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil, !status.Stopped():
			// A filter of system calls has ended it, and not the program.
			return 0, false, errUntraced
		case status.StopSignal() != unix.SIGTRAP:
			_ = unix.PtraceCont(pid, int(status.StopSignal())) // fails only if it has been killed
			continue
		}
		marked = m.set(pid)
		_ = unix.PtraceDetach(pid) // fails only if it has been killed
		return pid, marked, nil
	}
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
