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

// boxed knows nothing: there are no sandboxes on these systems.
func boxed(int) bool { return false }
