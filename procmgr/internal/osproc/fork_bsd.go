//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import "syscall"

// startIn starts a program in a new session.
func startIn(_ *cgroup, _ bool, file string, argv []string, attr *syscall.ProcAttr) (pid, pidfd int, err error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	started := forks.begin()
	pid, _, err = syscall.StartProcess(file, argv, attr)
	started()
	return pid, -1, err
}
