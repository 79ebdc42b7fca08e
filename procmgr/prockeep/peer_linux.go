package prockeep

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// peerUser returns the user who listens at the other end of a connection.
func peerUser(fd int) (uid int, known bool, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}

// bootID names the boot of this machine, or returns "".
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
