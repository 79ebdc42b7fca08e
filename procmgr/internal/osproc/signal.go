//go:build !plan9

package osproc

import "syscall"

// A Signal is a signal as the system knows it.
type Signal = syscall.Signal

// The signals that end a tree.
const (
	SIGTERM = syscall.SIGTERM
	SIGINT  = syscall.SIGINT
	SIGKILL = syscall.SIGKILL
)

// wakes reports whether a signal is followed by SIGCONT: a program that is
// stopped takes it only when it is continued.
func wakes(sig Signal) bool { return sig == SIGTERM || sig == SIGINT }
