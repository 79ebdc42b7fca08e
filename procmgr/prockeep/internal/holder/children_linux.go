package holder

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// maxRSSUnit is the unit of rusage's ru_maxrss in bytes, see getrusage(2).
const maxRSSUnit = 1 << 10

// ended returns the number of a child that has ended and is not reaped, or 0.
func ended() int {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || info.Signo == 0:
			return 0
		}
		return childPID(&info)
	}
}

// killTrapped kills the children that this process traces and that are stopped. A
// keeper's child asks for its parent to trace it, just before its exec; if the
// keeper has died by then, the holder is the parent. Such a child has run nothing
// of its command, and nobody would ever let it go on.
func (h *holder) killTrapped() {
	const trapped = 4 // CLD_TRAPPED of sigaction(2)
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WSTOPPED|unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || info.Signo == 0:
			return
		case info.Code == trapped:
			pid := childPID(&info)
			if unix.Kill(pid, unix.SIGKILL) == nil { // it is our child, and not reaped
				h.trapped[pid] = true
			}
		}
	}
}

// childPID reads si_pid, which x/sys does not name. siginfo_t has three ints, and
// after them, aligned to a pointer, si_pid.
func childPID(info *unix.Siginfo) int {
	const pointer = unsafe.Sizeof(uintptr(0))
	const at = (12 + pointer - 1) / pointer * pointer
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), at)))
}

// reap reaps a child if it has ended.
func reap(pid int) (e carry.Status, ok bool) {
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		got, err := unix.Wait4(pid, &status, unix.WNOHANG, &usage)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || got != pid {
			return carry.Status{}, false
		}
		break
	}
	if status.Stopped() || status.Continued() { // the kernel tells that of a child that is traced
		return carry.Status{}, false
	}
	e = carry.Status{User: time.Duration(usage.Utime.Nano()), System: time.Duration(usage.Stime.Nano()), MaxRSS: int64(usage.Maxrss) * maxRSSUnit}
	if status.Signaled() {
		e.Signal = int(status.Signal())
	} else {
		e.Code = status.ExitStatus()
	}
	return e, true
}

// dead looks at a child that has ended, and leaves it as it is.
func dead(pid int) (e carry.Status, ok bool) {
	var info unix.Siginfo
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	}
	if err != nil || info.Signo == 0 {
		return carry.Status{}, false
	}
	const exited = 1 // CLD_EXITED of sigaction(2)
	const pointer = unsafe.Sizeof(uintptr(0))
	const at = (12+pointer-1)/pointer*pointer + 8
	status := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at)))
	if info.Code == exited {
		return carry.Status{Code: status}, true
	}
	return carry.Status{Signal: status}, true
}

// children returns all children of this process, also those that have ended. It
// reports false if the system does not tell.
func children() (pids []int, ok bool) {
	if !ownProc() {
		return nil, false
	}
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		return nil, false
	}
	for _, path := range lists {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended, and has no children
		}
		for field := range bytes.FieldsSeq(text) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, true
}

// ownProc reports whether /proc has the numbers that this process uses, and is not
// that of another PID namespace.
func ownProc() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// gone reports whether the first thread of a child has ended. The other threads
// may be about to end; what the child leaves behind is adopted at the end of the
// last one.
func gone(pid int) bool {
	if !ownProc() {
		return false // it is rare that anything ends in just that moment
	}
	p, ok := procstat.Look(pid)
	return !ok || p.Ended()
}
