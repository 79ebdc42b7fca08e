//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"errors"
	"os"
	"syscall"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// wrappedStdin is the descriptor by which a program in front of the shell gets the stdin
// of the shell. Its own is the null device.
const wrappedStdin = 3

// fork starts a leader in a new session, and in a cgroup of its own if there
// are cgroups. The leader inherits no descriptor up to inheritable.
func fork(c *Command, file, cookie string, null *os.File, inheritable int, groups *cgroups, lacks *lacks) (*session, *pipe, *Input, error) {
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
	l := newLeader(group, lacks, c)
	if c.Claim != nil {
		if err := c.Claim(l.lineage(cookie, group)); err != nil {
			ends.close()
			group.remove()
			l.unmark()
			return nil, nil, nil, err
		}
	}
	// A program that only waits for the shell must not hold its input.
	files, terminal := ends.leader[:], 0
	if c.Wrapped {
		files, terminal = append([]uintptr{null.Fd()}, ends.leader[1], ends.leader[2], ends.leader[0]), wrappedStdin
	}
	ignores.begin()
	err = c.onThread(func() error {
		begun, err := l.startIn(group, lacks, file, c.Argv, &syscall.ProcAttr{
			Dir:   c.Dir,
			Env:   c.Env,
			Files: closeInherited(files, inheritable),
			// The terminal, if there is one, is that of the leader's session.
			Sys: &syscall.SysProcAttr{Setsid: true, Setctty: ends.kind == StdinTerminal, Ctty: terminal},
		})
		l = begun
		return err
	})
	ignores.end()
	if err != nil {
		ends.close()
		group.remove()
		if kept := (*unstarted)(nil); errors.As(err, &kept) {
			l.unmark()
			return nil, nil, nil, kept.error
		}
		if gone := CheckDirectory(c.Dir); gone != nil {
			return nil, nil, nil, gone
		}
		if errors.Is(err, sentinel.ErrInvalid) {
			return nil, nil, nil, err
		}
		return nil, nil, nil, forkError(err, file)
	}
	if c.Started != nil {
		born := l.lineage(cookie, group)
		p, _ := procstat.Look(l.pid) // it is not reaped
		born.Start = p.Start
		c.Started(born)
	}
	ends.release()
	p := ends.newOutput(c.Output)
	return newSession(l, cookie, p.end, group, lacks.pidfd), p, ends.newInput(p), nil
}

// elsewhere calls f, and waits for it. If away says that this thread is restricted, f
// runs on another one.
func elsewhere(away bool, f func()) {
	if !away {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
