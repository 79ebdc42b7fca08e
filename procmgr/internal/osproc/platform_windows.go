package osproc

import (
	"strconv"
	"syscall"
)

func checkPlatform() error { return nil }

func hasPidfds() bool { return false }

// signalName returns the name of a signal as [Signal] has it. Windows has no
// names of its own.
func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGKILL:
		return "SIGKILL"
	}
	return "SIG" + strconv.Itoa(int(s))
}

// enterable reports whether this user may run a command in a directory. On
// Windows only a try can tell.
func enterable(string) bool { return true }

// lastInheritable returns 0: a leader inherits only the handles that it is given.
func lastInheritable() int { return 0 }
