//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import "syscall"

// A leader is a process that has just been started, or is about to be.
type leader struct{ pid int }

func newLeader(*cgroup, *lacks, *Command) leader { return leader{} }

func (l *leader) unmark() {}

func (l *leader) lineage(cookie string, _ *cgroup) Lineage {
	return Lineage{PID: l.pid, Cookie: cookie}
}

// startIn starts a program as attr has it.
func (l leader) startIn(_ *cgroup, _ *lacks, file string, argv []string, attr *syscall.ProcAttr) (leader, error) {
	end := forks.begin()
	var err error
	l.pid, _, err = syscall.StartProcess(file, argv, attr)
	end()
	return l, err
}
