//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import "syscall"

// startIn starts a program as attr has it.
func startIn(_ *cgroup, _ *lacks, file string, argv []string, attr *syscall.ProcAttr) (l leader, err error) {
	started := forks.begin()
	l.pid, _, err = syscall.StartProcess(file, argv, attr)
	started()
	return l, err
}

// A leader is a process that has just been started.
type leader struct{ pid int }
