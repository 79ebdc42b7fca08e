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
	l := newLeader(group, lacks, c)
	var n *news
	if c.Keeper != nil {
		n = &news{c.Keeper, c.OnThread != nil, cookie, group, Birth{Lineage: l.lineage(cookie, group), Output: ends.output, Input: ends.input, Terminal: ends.kind == StdinTerminal}}
		if err := c.Keeper.Starting(n.birth); err != nil {
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
		begun, err := l.startIn(group, lacks, n, file, c.Argv, &syscall.ProcAttr{
			Dir:   c.Dir,
			Env:   c.Env,
			Files: files,
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
	ends.release()
	p := ends.newOutput(c.Output)
	return newSession(l, cookie, p.end, group, lacks.pidfd), p, ends.newInput(p), nil
}

// A news tells a Keeper how far a start has come. A nil one tells nobody.
type news struct {
	keeper Keeper
	// away says that the thread of the start is restricted: the keeper, which writes
	// files, is told on another one.
	away   bool
	cookie string
	group  *cgroup
	birth  Birth
}

// lineage returns the lineage of a leader, as far as it is known now.
func (n *news) lineage(l *leader) Lineage {
	b := l.lineage(n.cookie, n.group)
	if b.Start = n.birth.Start; b.Start == 0 {
		p, _ := procstat.Look(l.pid) // it is not reaped
		b.Start = p.Start
	}
	n.birth.Lineage = b
	return b
}

// tell calls f, and waits for it.
func (n *news) tell(f func()) { elsewhere(n.away, f) }

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

// stands is called when the leader is held before its first instruction.
func (n *news) stands(l *leader) {
	n.tell(func() { n.keeper.Stands(n.lineage(l)) })
}

// started is called before the leader that is held goes.
func (n *news) started(l *leader) {
	n.tell(func() {
		_ = n.lineage(l)
		n.keeper.Started(n.birth)
		n.keeper.Goes(n.birth.Lineage)
	})
}

// runs is called if the leader could not be held.
func (n *news) runs(l *leader) {
	if n != nil {
		n.tell(func() {
			n.keeper.Goes(n.lineage(l))
			n.keeper.Started(n.birth)
		})
	}
}
