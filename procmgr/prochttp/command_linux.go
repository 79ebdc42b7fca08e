package prochttp

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"
)

// keepsNumber reports whether the number of a command stays its own after
// awaitExit.
const keepsNumber = true

// awaitExit waits until a command has exited. It does not reap the command, so
// that its number stays its own, and with it that of its process group.
func awaitExit(cmd *exec.Cmd) {
	const (
		pPID    = 1          // P_PID
		wExited = 4          // WEXITED
		wNoWait = 0x01000000 // WNOWAIT
	)
	for {
		var info [128]byte // siginfo_t
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(cmd.Process.Pid),
			uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// groupLives reports whether the group of a command that has exited still has
// processes. A signal cannot ask: it finds the command itself, which is not reaped.
func groupLives(cmd *exec.Cmd) bool {
	group := strconv.Itoa(cmd.Process.Pid)
	names, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, name := range names {
		stat, _ := os.ReadFile(name)                                    // it may have ended
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // state, parent, group
		if len(fields) > 2 && string(fields[2]) == group && fields[0][0] != 'Z' && fields[0][0] != 'X' {
			return true
		}
	}
	return false
}
