//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func checkPlatform() error { return nil }

// signalName returns a name such as SIGKILL. A real-time signal has only a
// number.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return "SIG" + strconv.Itoa(int(s))
}

// enterable reports whether this user may run a command in a directory.
func enterable(dir string) bool { return unix.Access(dir, unix.X_OK) == nil }
