//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"errors"
	"os"
	"syscall"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// fork starts a leader in a new session, and in a cgroup of its own if there
// are cgroups.
func fork(c *Command, file, cookie string, null *os.File, groups *cgroups, lacks *lacks) (*session, *pipe, *Input, error) {
	ends, err := openStdio(c, null)
	if err != nil && c.Stdin == StdinTerminal {
		return nil, nil, nil, err
	}
	if err != nil {
		return nil, nil, nil, forkError(err, file)
	}
	group, err := groups.add()
	if err != nil {
		ends.close()
		return nil, nil, nil, err
	}
	l := newLeader(group, lacks)
	var told func(leader)
	if c.Keeper != nil {
		b := Birth{Lineage: l.lineage(cookie, group), Output: ends.output, Input: ends.input, Terminal: ends.kind == StdinTerminal}
		if err := c.Keeper.Starting(b); err != nil {
			ends.close()
			group.remove()
			l.unmark()
			return nil, nil, nil, err
		}
		told = func(l leader) {
			b.Lineage = l.lineage(cookie, group)
			c.Keeper.Started(b)
		}
	}
	l, err = l.startIn(group, lacks, told, file, c.Argv, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: ends.leader[:],
		// The terminal, if there is one, is that of the leader's session.
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: ends.kind == StdinTerminal},
	})
	if err != nil {
		ends.close()
		group.remove()
		if gone := CheckDirectory(c.Dir); gone != nil {
			return nil, nil, nil, gone
		}
		if errors.Is(err, sentinel.ErrInvalid) {
			return nil, nil, nil, err
		}
		return nil, nil, nil, forkError(err, file)
	}
	ends.release()
	p := ends.newOutput(c.Output)
	return newSession(l, cookie, p.end, group, lacks.pidfd), p, ends.newInput(p), nil
}
