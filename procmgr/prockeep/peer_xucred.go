//go:build darwin || freebsd

package prockeep

import "golang.org/x/sys/unix"

// peerUser returns the user who listens at the other end of a connection.
func peerUser(fd int) (uid int, known bool, err error) {
	cred, err := unix.GetsockoptXucred(fd, 0, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}

// bootID names the boot of this machine, or returns "".
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid") // of macOS
	if err != nil {
		return ""
	}
	return id
}
