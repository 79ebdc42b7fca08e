//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import "syscall"

// ignoredUnknown reports whether this program ignores a signal of which
// [signal.Ignored] does not know. Nothing here tells that without C code.
func ignoredUnknown(syscall.Signal) bool { return false }
