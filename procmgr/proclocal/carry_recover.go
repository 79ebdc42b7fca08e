//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/tally"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// doubt is for how long an unknown ID may have been used, if a part of the journal
// was lost: until those who ask again for what they began have done so.
const doubt = time.Minute

// recoverLocal is Recover.
func recoverLocal(opts *Options, keep carry.Keep, j *carry.Journal) (l *Local, run func(), err error) {
	files := descriptors(j.Files)
	defer files.close()
	l = newLocal(opts, keep)
	var m localMemo
	if err := json.Unmarshal(j.Local, &m); err != nil && len(j.Local) > 0 {
		l.opts.Logger.Warn("the journal does not tell where the logs are", slog.String("error", err.Error()))
	}
	if err := l.reopen(m, files); err != nil {
		return nil, nil, err
	}
	if j.Holes {
		l.doubtful = time.Now().Add(doubt)
	}
	saved, unborn, unsure := l.readJournal(j)
	var held []*osproc.Tree // of those that may not have begun
	comings := make([]*coming, 0, len(saved))
	for i := range saved {
		s := &saved[i]
		ended := s.Memo.Process.State == procmgr.Exited
		total := s.Memo.Total
		if slot := l.tallies.Slot(s.Seq); !ended && slot != nil {
			counted, missing := slot.Output()
			total = counted + missing
		} else if !ended {
			total = -1
		}
		c, err := l.comeBack(s, files, func(out *capture.Stream) {
			out.Recover(s.Memo.Log, l.logs, total, s.Memo.Lost, ended)
		})
		if err == nil { // it cannot fail, because the stream is filled
			comings = append(comings, c)
			c.kept.memo.Lost = c.out.Lost()
			if unsure[s.Seq] && s.Memo.Doubtful {
				held = append(held, c.tree)
			}
		}
	}
	l.buryExited(comings)
	l.tellAgain(comings)
	for i, c := range comings {
		if unsure[c.seq] || c.out.Lost() != saved[i].Memo.Lost {
			c.kept.foundOut()
		}
	}
	if err = l.began(); err != nil {
		return nil, nil, err
	}
	return l, func() {
		for _, k := range unborn {
			keep.NotStarted(k)
		}
		for _, t := range l.past.Save() { // of those that nobody knows
			keep.Dropped(carry.Key{Seq: t.Seq, Chat: t.Chat, ID: t.ID})
		}
		l.goOn(comings)
		if len(held) > 0 {
			l.wg.Add(1)
			go l.endHeld(held)
		}
	}, nil
}

// endHeld ends what stands at its first instruction of some processes. A child may
// take a while from its fork to its exec, and stands there only then. Close waits
// for it.
func (l *Local) endHeld(trees []*osproc.Tree) {
	defer l.wg.Done()
	for pause := time.Millisecond; pause < time.Second; pause *= 2 {
		l.mu.Lock()
		closed := l.closed
		l.mu.Unlock()
		if closed {
			return
		}
		l.system.EndHeld(trees)
		time.Sleep(pause)
	}
}

// readJournal returns the processes of a journal, and the keys of those that have
// run nothing. unsure has the processes that may not have begun yet. It makes
// tombstones of those of which nothing is known.
func (l *Local) readJournal(j *carry.Journal) (saved []savedRecord, unborn []carry.Key, unsure map[uint64]bool) {
	unsure = make(map[uint64]bool)
	var pending []savedRecord // between Starting and Started
	known := make(map[carry.Leader]bool)
	for _, e := range j.Entries {
		l.seq = max(l.seq, e.Seq)
		var m memo
		if e.Record == nil || json.Unmarshal(e.Record, &m) != nil {
			l.past.Add(e.Chat, &retention.Tombstone{Seq: e.Seq, ID: e.ID, Unknown: true})
			continue
		}
		s := savedRecord{Seq: e.Seq, ID: e.ID, Chat: e.Chat, Memo: m, Looked: m.Progress.Detached}
		if m.Spent {
			l.past.Add(e.Chat, &retention.Tombstone{Seq: e.Seq, ID: e.ID, Spent: true})
			continue
		}
		stage, pid, start := l.tallies.Slot(e.Seq).Leader()
		known[carry.Leader{PID: pid, Start: start}] = stage != tally.Unknown
		switch {
		case stage == tally.Standing:
			// The kernel has killed it when the dead program ended.
			unborn = append(unborn, e.Key)
			continue
		case !e.Started && stage == tally.Going: // the line of its start could not be written
			s.Memo.Lineage.PID, s.Memo.Lineage.Start, s.Memo.Process.PID = pid, start, pid
			unsure[e.Seq] = true
		case !e.Started && m.Lineage.PID == 0:
			pending = append(pending, s)
			continue
		}
		s.Unswept = m.Process.State == procmgr.Exited && !m.Lineage.Sealed()
		s.Ended = m.Revived || m.Process.State == procmgr.Exited
		saved = append(saved, s)
	}
	strays := j.Unsure || slices.ContainsFunc(j.Strays, func(stray carry.Leader) bool { return !known[stray] })
	for i, found := range l.system.Find(lineages(pending)) {
		s := pending[i]
		s.Memo.Lineage.PID, s.Memo.Lineage.Start = found.PID, found.Start
		switch {
		case found.Leads && !found.Held:
			s.Memo.Process.PID, s.Memo.Doubtful = found.PID, true
		case found.Held, found.PID == 0 && !strays:
			unborn = append(unborn, carry.Key{Seq: s.Seq, Chat: s.Chat, ID: s.ID})
			continue
		default: // nobody knows how the leader has ended, if there was one
			s.Memo.Progress = osproc.Progress{Exit: &osproc.Exit{Lost: true}, At: time.Now()}
		}
		unsure[s.Seq] = true
		saved = append(saved, s)
	}
	slices.SortFunc(saved, func(a, b savedRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	return saved, unborn, unsure
}

func lineages(saved []savedRecord) []osproc.Lineage {
	all := make([]osproc.Lineage, len(saved))
	for i, s := range saved {
		all[i] = s.Memo.Lineage
	}
	return all
}

// buryExited notes the order in which processes have exited.
func (l *Local) buryExited(comings []*coming) {
	var exited []*record
	for _, c := range comings {
		if !c.live {
			exited = append(exited, c.record)
		}
	}
	slices.SortStableFunc(exited, func(a, b *record) int { return a.process.ExitedAt.Compare(b.process.ExitedAt) })
	for _, r := range exited {
		r.inExits = l.exits.PushBack(r)
	}
}

// tellAgain makes the events of processes of which only the journal is left. Their
// cursors are new ones: what was told before is told again.
func (l *Local) tellAgain(comings []*coming) {
	var all []procmgr.Event
	tell := func(kind procmgr.EventKind, at time.Time, p procmgr.Process) {
		p.Command = retention.CutShort(p.Command)
		all = append(all, procmgr.Event{At: at, Kind: kind, Process: p})
	}
	for _, c := range comings {
		p := c.snapshot()
		began := p
		began.State, began.ExitCode, began.Signal, began.EndedBy = procmgr.Running, nil, "", ""
		began.ExitedAt, began.Usage, began.OOM = time.Time{}, procmgr.Usage{}, false
		tell(procmgr.EventStarted, p.StartedAt, began)
		if m := c.kept.look(); m.Progress.Detached {
			left := p
			left.State, left.ExitedAt = procmgr.Detached, time.Time{}
			tell(procmgr.EventDetached, m.Progress.At, left)
		}
		if p.State == procmgr.Exited {
			tell(procmgr.EventExited, p.ExitedAt, p)
		}
	}
	slices.SortStableFunc(all, func(a, b procmgr.Event) int { return a.At.Compare(b.At) })
	for _, event := range all {
		l.events.Add(event.Process.ChatID, event)
	}
}
