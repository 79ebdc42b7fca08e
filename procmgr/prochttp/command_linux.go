package prochttp

import (
	"os/exec"
	"syscall"
	"unsafe"
)

// keepsNumber reports whether the number of a command stays its own after
// awaitExit.
const keepsNumber = true

// awaitExit waits until a command has exited. It does not reap the command, so that the
// numbers of the command and of its process group are not reused.
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
