//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal

import (
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/tally"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/input"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/vault"
)

// restore is Restore.
func restore(opts *Options, keep carry.Keep, state *carry.State) (l *Local, run func(), err error) {
	files := descriptors(state.Files)
	defer files.close()
	if state.Version != carry.Version {
		return nil, nil, xerrors.Errorf("the state has version %d, and this program reads version %d: %w", state.Version, carry.Version, procmgr.ErrInvalid)
	}
	saved, err := decodeState(state.Data)
	if err != nil {
		return nil, nil, err
	}
	l = newLocal(opts, keep)
	if err := l.reopen(saved.Local, files); err != nil {
		return nil, nil, err
	}
	l.seq = saved.Seq
	l.events.Resume(saved.Events)
	for i := range saved.Past {
		l.past.Add(saved.Past[i].Chat, &saved.Past[i].Tombstone)
	}
	comings := make([]*coming, len(saved.Records))
	for i := range saved.Records {
		if comings[i], err = l.comeBack(&saved.Records[i], files, nil); err != nil {
			break
		}
	}
	if err == nil {
		for _, i := range saved.Exits {
			r := comings[i].record
			r.inExits = l.exits.PushBack(r)
		}
		err = l.began()
	}
	if err != nil {
		l.letGo()
		return nil, nil, err
	}
	return l, func() { l.goOn(comings) }, nil
}

// reopen is open for a Local that takes over the directories of another one.
func (l *Local) reopen(m localMemo, files descriptors) (err error) {
	c := osproc.Config{Cgroup: l.opts.Cgroup, Logger: l.opts.Logger}
	if m.Cgroups != "" {
		c.Adopted, c.AdoptedLock = m.Cgroups, files.takeFile(0, carry.Cgroups)
	}
	if l.system, err = osproc.Open(c); err != nil {
		return err
	}
	l.ports.System = l.system
	l.tallies = tally.New(files.takeFile(0, carry.Tally))
	l.vault = vault.Open(files.takeFile(0, carry.Secrets))
	switch {
	case l.opts.LogDir == "":
		return nil
	case m.Logs != nil:
		l.logs, err = capture.ResumeLogs(l.logOptions(), *m.Logs, files.takeFile(0, carry.LogLock))
	default:
		l.logs, err = capture.OpenLogs(l.logOptions())
	}
	if err != nil {
		l.system.Leave()
		l.tallies.Close()
		l.vault.Close()
	}
	return err
}

// A coming is a record that has come back, until it is followed again.
type coming struct {
	*record
	live    bool
	revived bool // only members that had left their session live
	cut     bool // nobody can read the rest of its output
	unswept bool
}

// comeBack makes the record of a process of another Local. If fill is not nil, it
// fills the stream in place of the state.
func (l *Local) comeBack(s *savedRecord, files descriptors, fill func(*capture.Stream)) (*coming, error) {
	m := &s.Memo
	r := &record{
		opts: &l.opts, id: s.ID, chat: s.Chat, seq: s.Seq, terminal: m.Process.Stdin == procmgr.StdinTerminal,
		key: m.Print, ready: make(chan struct{}), told: nobodyTold,
		lacks: m.Lacks, passedOver: m.PassedOver, withheld: m.Withheld,
		process: m.Process, asked: m.Asked, forking: true, answered: true, unswept: s.Unswept,
	}
	close(r.ready)
	if s.Looked {
		r.look.Do(func() {})
	}
	r.kept = &kept{keep: l.keep, key: carry.Key{Seq: s.Seq, Chat: s.Chat, ID: s.ID}, memo: *m, told: true}

	if !l.opts.NoRedact {
		r.masks = l.masks.of(l.vault.Values())
	}
	r.out = capture.NewStream(&l.streams, int64(len(m.Process.Command)))
	r.out.Redact(r.masks)
	live := m.Process.State != procmgr.Exited
	if live {
		r.kept.tally = l.tallies.Add(r.seq)
		r.out.Count(r.kept.tally)
	}
	if fill != nil {
		fill(r.out)
	} else if err := r.out.Resume(&s.Stream, l.logs); err != nil {
		return nil, errState
	}
	if notify, err := capture.NewNotice(m.Notify); err == nil && notify != nil && !m.Notified {
		tell := func(line string) { l.matched(r, line) }
		if s.Stream.Notice != nil {
			r.out.ResumeNotify(notify, s.Stream.Notice, tell)
		} else if fill != nil {
			r.out.Notify(notify, tell)
		}
	}
	a := osproc.Adoption{
		Lineage: m.Lineage, Progress: m.Progress, Ended: s.Ended || !live, Wanted: r.asked != "", Killed: s.Tree.Killed,
		Sink: r.out, Output: files.take(s.Seq, carry.Output), Input: files.take(s.Seq, carry.Input),
		Stdin: input.Kind(m.Process.Stdin), Keeper: r.kept,
	}
	if r.terminal {
		a.Output = files.take(s.Seq, carry.Terminal)
	}
	if m.Process.Stdin != procmgr.StdinEmpty {
		r.in = input.New(procmgr.StartRequest{Stdin: m.Process.Stdin, Size: m.Size}, r.out, r.exited, r.masks)
		r.in.Resume(s.Inlet, m.Inputs, m.NoInput)
		a.Sink = r.in
	}
	if live && !a.Ended && a.Exit == nil {
		a.Await = r.kept.await
	}
	r.tree = l.system.Adopt(a)
	if r.in != nil {
		r.in.Open(r.tree.Input())
	}
	r.show()
	if live {
		l.lookForQuestions(r, s.Asks)
	}
	c := &coming{record: r, live: live, revived: live && s.Ended, cut: live && a.Output < 0 && !s.Tree.OutputEnded, unswept: s.Unswept}
	if s.Buried {
		r.out.Drop()
		return c, nil
	}
	l.chats.begun(r)
	if !live {
		l.chats.ended(r)
	}
	return c, nil
}

// await waits for the end of a leader that is not this program's child.
func (k *kept) await(stop <-chan struct{}) (osproc.Exit, bool) {
	m := k.look()
	select {
	case s, ok := <-k.keep.Await(k.key, leaderOf(&m)):
		if !ok || k.mayBeUnborn(osproc.Signal(s.Signal)) {
			return osproc.Exit{}, false
		}
		return osproc.Exit{
			Status: s.Code, Signal: osproc.Signal(s.Signal),
			Usage: &osproc.Usage{User: s.User, System: s.System, MaxRSS: osproc.Peak(s.MaxRSS)},
		}, true
	case <-stop:
		return osproc.Exit{}, false
	}
}

// mayBeUnborn reports whether a leader that has ended by a signal may never have begun.
// Then nobody knows how it ended: no tool has sent what has killed it.
func (k *kept) mayBeUnborn(sig osproc.Signal) bool {
	m := k.look()
	printed, missing := k.tally.Output()
	return m.Doubtful && m.Asked == "" && printed+missing == 0 && osproc.EndsHeld(sig)
}

// goOn follows the processes that have come back. Close waits for them.
func (l *Local) goOn(comings []*coming) {
	live := make(map[uint64]bool)
	for _, c := range comings {
		live[c.seq] = c.live
	}
	l.tallies.Keep(func(seq uint64) bool { return live[seq] })
	for _, c := range comings {
		if !c.live {
			c.kept.dropped() // the program may have died before it did so
			continue
		}
		l.wg.Add(1)
		l.opts.Metrics.again(1)
		go l.followAgain(c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range comings {
		if !c.live && c.unswept {
			l.sweepLater(c.record)
		}
	}
	l.expire()
}

func (l *Local) followAgain(c *coming) {
	if c.cut {
		c.tree.EndOutput()
	}
	if c.revived {
		l.rewatch(c.record, c.tree.Escapees())
		return
	}
	c.tree.Watch(func() { l.watch(c.record) })
}
