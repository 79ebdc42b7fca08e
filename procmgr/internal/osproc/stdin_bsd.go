//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import "golang.org/x/sys/unix"

const ioctlGetTermios = unix.TIOCGETA

// MaxLine is how many bytes of a line a terminal takes that collects lines; it
// drops the others. MAX_CANON is smaller on some of these systems.
const MaxLine = 1023

// readers is empty: nobody can tell here who reads an Input.
type readers struct{}
