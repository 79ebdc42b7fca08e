//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package procmgr

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func checkPlatform() error { return nil }

func signalName(s syscall.Signal) string { return unix.SignalName(s) }
