package procmgr

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// Local runs processes on this machine. It is a [Host], safe for concurrent
// use.
type Local struct {
	opts   Options
	system *osproc.System
	logs   *capture.Logs // nil where Options.LogDir is not set

	memory  atomic.Int64 // bytes of output that all records keep
	streams capture.Options

	allowed allowance

	wg sync.WaitGroup // every record's watch and rewatch

	// mu guards what follows. It is held for moments only: never across a
	// fork, a wait or a look at /proc.
	mu      sync.Mutex
	closed  bool // nothing is started any more
	settled bool // nothing comes back any more: Close waits for the last
	seq     uint64
	running int                 // records that have not exited
	chats   map[string]*records // by chat
	past    *tombstones
	exits   *list.List // records that have exited, in that order
	expiry  *time.Timer
	// expiring is the record that expiry is set for.
	expiring *record
	sweeps   sweeps

	closing  sync.Once
	closeErr error
}

// records are the processes of one chat, by ID.
type records struct {
	byID    map[string]*record
	running int
}

var _ Host = (*Local)(nil)

// NewLocal returns a Local; nil are the defaults. It fails where the system
// cannot run a Local at all, or where an option cannot be honoured.
func NewLocal(opts *Options) (*Local, error) {
	l := &Local{
		opts:  opts.withDefaults(),
		chats: make(map[string]*records),
		past:  newTombstones(maxTombstones),
		exits: list.New(),
	}
	l.streams = capture.Options{
		Head:    l.opts.Head,
		Tail:    l.opts.Tail,
		Raw:     l.opts.RawOutput,
		Memory:  &l.memory,
		Grown:   l.makeRoom,
		Written: l.opts.Metrics.output(),
	}
	var err error
	if l.system, err = osproc.Open(osproc.Config{Cgroup: l.opts.Cgroup, Logger: l.opts.Logger}); err != nil {
		return nil, xerrors.Errorf("procmgr: new local: %w", err)
	}
	if l.opts.LogDir != "" {
		l.logs, err = capture.OpenLogs(capture.LogOptions{
			Dir:     l.opts.LogDir,
			Keep:    l.opts.KeepLogs,
			Max:     l.opts.MaxLog,
			MaxAll:  l.opts.MaxLogs,
			FreeOne: l.freeLog,
			Logger:  l.opts.Logger,
		})
		if err != nil {
			l.system.Close()
			return nil, xerrors.Errorf("procmgr: new local: %w", err)
		}
	}
	return l, nil
}

// Start implements [Manager]. What the host itself starts belongs to no chat.
func (l *Local) Start(ctx context.Context, req StartRequest) (Output, error) {
	out, err := l.start(ctx, "", req)
	return out, wrap("start", req.ID, err)
}

// Output implements [Manager]. It finds the processes of every chat.
func (l *Local) Output(ctx context.Context, id string, req OutputRequest) (Output, error) {
	chat, err := l.chatOf(id)
	if err != nil {
		return Output{}, wrap("output", id, err)
	}
	out, err := l.output(ctx, chat, id, req)
	return out, wrap("output", id, err)
}

// List implements [Manager]. It has the processes of every chat.
func (l *Local) List(ctx context.Context) ([]Process, error) {
	l.mu.Lock()
	var all []*record
	for _, c := range l.chats {
		all = c.appendTo(all)
	}
	l.mu.Unlock()
	return listOf(ctx, all)
}

// Signal implements [Manager]. It finds the processes of every chat; an ID that
// none has used is spent for what the host itself starts.
func (l *Local) Signal(ctx context.Context, id string, sig Signal) error {
	chat, err := l.chatOf(id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return wrap("signal", id, err)
	}
	return wrap("signal", id, l.signal(ctx, chat, id, sig))
}

// Chat implements [Host]. An ID of a chat has 1 to 256 bytes, none of them a
// control character; with any other one every call is [ErrInvalid].
func (l *Local) Chat(id string) Manager { return &chat{local: l, id: id, err: checkChat(id)} }

// chatOf finds the one chat that has used an ID.
func (l *Local) chatOf(id string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.past.chatsOf(id)
	for name, c := range l.chats {
		if c.byID[id] != nil {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", ErrNotFound
	case 1:
		return found[0], nil
	}
	return "", xerrors.Errorf("%d chats have a process with this ID, ask in the chat: %w", len(found), ErrConflict)
}

func (c *records) appendTo(all []*record) []*record {
	for _, r := range c.byID {
		all = append(all, r)
	}
	return all
}

// listOf takes snapshots of what has started, in the order of starts.
func listOf(ctx context.Context, all []*record) ([]Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, wrap("list", "", err)
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.seq, b.seq) })
	processes := make([]Process, 0, len(all))
	for _, r := range all {
		select {
		case <-r.ready:
			if r.failed == nil {
				processes = append(processes, r.snapshot())
			}
		default: // still on its way
		}
	}
	return processes, nil
}

// wrap says which call on which process failed.
func wrap(verb, id string, err error) error {
	if err == nil {
		return nil
	}
	call := "procmgr: " + verb
	if id != "" {
		call += fmt.Sprintf(" %.80q", id)
	}
	return &callError{call: call, err: err}
}

// output is Output in one chat.
func (l *Local) output(ctx context.Context, chat, id string, req OutputRequest) (Output, error) {
	m, err := capture.NewMatcher(req.Until)
	if err != nil {
		return Output{}, err
	}
	r, past := l.find(chat, id)
	switch {
	case past != nil:
		return past.output(req.From), nil
	case r == nil:
		return Output{}, ErrNotFound
	}
	if failed, err := r.started(ctx); failed {
		return Output{}, ErrNotFound // nothing was started, the ID is unused
	} else if err != nil {
		return Output{}, err
	}
	r.mu.Lock()
	state := r.process.State
	r.mu.Unlock()
	from := min(max(req.From, 0), r.out.Visible()) // beyond the end is the end as it is now
	if m != nil {
		if err := r.out.Watch(ctx, m, from); err != nil {
			return r.output(from, req.Limit, nil), err
		}
	}
	err = r.wait(ctx, state, req.Wait, m)
	out := r.output(from, req.Limit, m)
	l.opts.Metrics.omitted(out)
	return out, err
}

// find looks an ID up in one chat: a record, or a tombstone, or neither. What a
// stop has spent was never a process.
func (l *Local) find(chat, id string) (*record, *tombstone) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.chats[chat]; c != nil && c.byID[id] != nil {
		return c.byID[id], nil
	}
	if t := l.past.get(chat, id); t != nil && !t.spent {
		return nil, t
	}
	return nil, nil
}
