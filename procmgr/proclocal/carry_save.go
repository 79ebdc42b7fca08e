//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal

import (
	"context"
	"errors"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// save is Save.
func (l *Local) save(ctx context.Context) (*carry.State, error) {
	if l.keep == nil || !osproc.Adopts {
		return nil, errors.ErrUnsupported
	}
	if err := l.pauses.begin(ctx); err != nil {
		return nil, err
	}
	if err := l.awaitStarts(ctx); err != nil {
		l.pauses.over()
		return nil, err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		l.pauses.over()
		return nil, procmgr.ErrClosed
	}
	// From here on there is no way back but by restore.
	l.closed, l.settled = true, true
	if l.expiry != nil {
		l.expiry.Stop()
	}
	l.sweeps.stop()
	all := l.chats.all.records()
	l.mu.Unlock()

	files := make(map[uint64][]carry.File)
	frozen := make(map[*record]osproc.Frozen)
	for _, r := range all {
		if r.shown.Load() != nil && !r.exited() {
			frozen[r] = r.tree.Freeze()
		}
	}
	l.wg.Wait()
	l.asks.Close()
	l.system.Settle()

	s := new(savedLocal)
	s.Local, files[0] = l.memo(l.vault.File())
	for i := range files[0] {
		files[0][i].FD = osproc.Duplicate(files[0][i].FD)
	}
	index := make(map[*record]int)
	add := func(r *record, buried bool) {
		f, live := frozen[r]
		if live {
			r.tree.Left(&f)
			if r.exited() { // it had ended before the tree was frozen
				descriptors{0: filesLeft(r, f)}.close()
				f.Output, f.Input, live = -1, -1, false
			}
		} else {
			f.Output, f.Input, f.OutputEnded = -1, -1, true
		}
		index[r] = len(s.Records)
		s.Records = append(s.Records, r.save(f, !live, buried))
		if open := filesLeft(r, f); len(open) > 0 {
			files[r.seq] = open
		}
	}
	for _, r := range all {
		if r.shown.Load() != nil {
			add(r, false)
		}
	}
	for _, r := range l.sweeps.pending {
		if r.inExits == nil && r.exited() { // in no chat any more
			add(r, true)
		}
	}
	// A search for a line may have told of it until its stream was saved.
	l.mu.Lock()
	s.Seq, s.Past, s.Events = l.seq, l.past.Save(), l.events.Save()
	for e := l.exits.Front(); e != nil; e = e.Next() {
		s.Exits = append(s.Exits, index[e.Value.(*record)])
	}
	l.mu.Unlock()
	data, err := s.encode()
	l.letGo()
	if err != nil { // cannot be: all of it can be marshalled
		descriptors(files).close()
		return nil, err
	}
	return &carry.State{Version: carry.Version, Data: data, Files: files}, nil
}

// awaitStarts waits until no start is under way.
func (l *Local) awaitStarts(ctx context.Context) error {
	for _, r := range l.chats.all.records() {
		if failed, err := r.started(ctx); err != nil && !failed {
			return xerrors.Errorf("a start is under way: %w", err)
		} else if failed {
			continue
		}
		select {
		case <-r.told:
		case <-ctx.Done():
			return xerrors.Errorf("OnStart is under way: %w", ctx.Err())
		}
	}
	return nil
}

// letGo gives up what the Local has of the system, and removes nothing.
func (l *Local) letGo() {
	l.mu.Lock()
	l.events.Close()
	l.mu.Unlock()
	l.system.Leave()
	l.tallies.Close()
	l.vault.Close()
	if l.logs != nil {
		l.logs.Leave()
	}
}

// save returns a record for another program. Nothing changes it any more.
func (r *record) save(f osproc.Frozen, ended, buried bool) savedRecord {
	stream := r.out.Save()
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.kept.look()
	m.Process, m.Asked = retention.Clone(r.process), r.asked
	if ended = ended || m.Revived; !ended {
		m.Progress = f.Progress
	}
	m.Lacks, m.Withheld, m.PassedOver = r.lacks, r.withheld, r.passedOver
	s := savedRecord{
		Seq: r.seq, ID: r.id, Chat: r.chat, Memo: m, Tree: f, Ended: ended, Buried: buried,
		Unswept: r.unswept, Looked: f.Detached || ended, Asks: r.asks.Load().Begun(), Stream: stream,
	}
	if r.in != nil {
		s.Inlet, s.Memo.Inputs, s.Memo.NoInput = r.in.Save()
	}
	return s
}
