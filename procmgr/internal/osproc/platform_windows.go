package osproc

import (
	"strconv"
	"syscall"
)

func checkPlatform() error { return nil }

func hasPidfds() bool { return false }

// signalName returns the name of a signal that [Signal] stands for; the system
// has none.
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

// enterable reports whether this user may run something in a directory, which
// here only trying tells.
func enterable(string) bool { return true }
