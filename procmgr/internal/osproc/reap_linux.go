package osproc

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxRSSUnit is the unit of rusage's ru_maxrss in bytes, see getrusage(2).
const maxRSSUnit = 1 << 10

// waitForExit waits with waitid(2) for a child's exit and does not reap it.
// With WNOHANG the error is EAGAIN if the child lives.
func waitForExit(idType, id, options int) error {
	var info unix.Siginfo
	for {
		err := unix.Waitid(idType, id, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err == nil && info.Signo == 0: // WNOHANG: the child lives
			return unix.EAGAIN
		}
		return err
	}
}

// reapPidfd reaps a leader by its pidfd.
func reapPidfd(leader *os.File) Exit {
	end := Exit{Lost: true}
	control(leader, func(fd int) {
		var info unix.Siginfo
		var usage unix.Rusage
		err := error(unix.EINTR)
		for err == unix.EINTR {
			err = unix.Waitid(unix.P_PIDFD, fd, &info, unix.WEXITED|unix.WNOHANG, &usage)
		}
		if err != nil || info.Signo == 0 {
			return
		}
		end = Exit{Usage: newUsage(&usage)}
		if status := childStatus(&info); info.Code == cldExited {
			end.code = status
		} else {
			end.Signal = syscall.Signal(status)
		}
	})
	return end
}

// reapPid reaps a leader by its number. The leader is still a zombie of ours,
// because only the caller reaps it.
func reapPid(pid int) (end Exit) {
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		got, err := unix.Wait4(pid, &status, unix.WNOHANG, &usage)
		if err == unix.EINTR {
			continue
		}
		if err != nil || got != pid {
			return Exit{Lost: true}
		}
		break
	}
	end.Usage = newUsage(&usage)
	if status.Signaled() {
		end.Signal = status.Signal()
	} else {
		end.code = status.ExitStatus()
	}
	return end
}

func newUsage(u *unix.Rusage) *Usage {
	usage := &Usage{
		User:   time.Duration(u.Utime.Nano()),
		System: time.Duration(u.Stime.Nano()),
	}
	// Linux counts the peak of the program that forked as the child's own,
	// until the child's exec. A value that does not exceed that peak measures
	// nothing.
	var own unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &own) == nil && u.Maxrss > own.Maxrss {
		usage.MaxRSS = int64(u.Maxrss) * maxRSSUnit
	}
	return usage
}

// cldExited is CLD_EXITED of sigaction(2).
const cldExited = 1

// childStatus reads si_status, which x/sys does not name. siginfo_t has three
// ints. After them, aligned to a pointer, come si_pid, si_uid and si_status.
func childStatus(info *unix.Siginfo) int {
	const pointer = unsafe.Sizeof(uintptr(0))
	const at = (12+pointer-1)/pointer*pointer + 8
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), at)))
}
