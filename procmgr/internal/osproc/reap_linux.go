package osproc

import (
	"sync/atomic"
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

// exitOf reaps a child that has exited, and returns how.
func exitOf(idType, id int) Exit {
	var info unix.Siginfo
	var usage unix.Rusage
	err := error(unix.EINTR)
	for err == unix.EINTR {
		err = unix.Waitid(idType, id, &info, unix.WEXITED|unix.WNOHANG, &usage)
	}
	if err != nil || info.Signo == 0 {
		return Exit{Lost: true}
	}
	end := Exit{Usage: newUsage(&usage)}
	if status := childStatus(&info); info.Code == cldExited {
		end.Status = status
	} else {
		end.Signal = syscall.Signal(status)
	}
	return end
}

func newUsage(u *unix.Rusage) *Usage {
	usage := &Usage{
		User:   time.Duration(u.Utime.Nano()),
		System: time.Duration(u.Stime.Nano()),
	}
	usage.MaxRSS = ownPeak(int64(u.Maxrss) * maxRSSUnit)
	return usage
}

// ownPeak returns the peak memory of a child in bytes, or 0 if it is not known.
// Linux counts the peak of the program that forked as the child's own, until the
// child's exec. A value that does not exceed that peak measures nothing.
func ownPeak(bytes int64) int64 {
	if bytes <= programPeak.Load() {
		return 0 // that peak never falls
	}
	var own unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &own) != nil {
		return 0
	}
	peak := int64(own.Maxrss) * maxRSSUnit
	programPeak.Store(peak)
	if bytes > peak {
		return bytes
	}
	return 0
}

// programPeak is the peak memory of this program when it was last asked for.
var programPeak atomic.Int64

// cldExited is CLD_EXITED of sigaction(2).
const cldExited = 1

// childStatus reads si_status, which x/sys does not name. siginfo_t has three
// ints. After them, aligned to a pointer, come si_pid, si_uid and si_status.
func childStatus(info *unix.Siginfo) int {
	const pointer = unsafe.Sizeof(uintptr(0))
	const at = (12+pointer-1)/pointer*pointer + 8
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), at)))
}
