package prockeep

import (
	"bytes"
	"os"
	"strconv"

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

// boxed reports whether the program that has made a connection is confined more than
// this one is, as all are that a keeper's sandbox has started: it can gain no privileges,
// and has one more seccomp filter or another user namespace, none of which it can give up.
// A program that has gone may have been such a one.
func boxed(fd int) bool {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return true
	}
	if cred.Pid == 0 {
		return false // it is in another container, and a sandbox makes no namespace of processes
	}
	pid := strconv.Itoa(int(cred.Pid))
	theirs, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return true
	}
	space, spaceErr := os.Readlink("/proc/" + pid + "/ns/user")
	if peer, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, soPeerPidfd); err == nil { // since Linux 6.5
		defer unix.Close(peer)
		// Nothing that was read is of another process, which has got the number since.
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(peer), Events: unix.POLLIN}}, 0); n != 0 || err != nil {
			return true
		}
	}
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return true
	}
	if statusField(theirs, "NoNewPrivs") == 0 {
		return false
	}
	ownSpace, err := os.Readlink("/proc/self/ns/user")
	return err != nil || spaceErr != nil || space != ownSpace || statusField(theirs, "Seccomp_filters") > statusField(own, "Seccomp_filters")
}

const soPeerPidfd = 77 // SO_PEERPIDFD

// statusField returns a number of /proc/PID/status, see proc(5). 0 stands for none.
func statusField(status []byte, name string) int {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.Atoi(string(bytes.TrimSpace(line)))
	return n
}
