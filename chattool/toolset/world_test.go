package toolset_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// A world is a host without processes of the system: a test decides what
// happens, and when. It is not safe for concurrent use.
type world struct {
	procmgr.Unsupported      // of what a view cannot do
	silent              bool // it has no events
	now                 time.Time
	all                 []*life
	log                 []procmgr.Event
	lost                int // events that are kept no more
	born                int
	ends                bool // the next process that is started ends before Start returns
	// asked counts the requests of each kind since the last reset.
	asked map[string]int
}

// A life is a process of a world.
type life struct {
	procmgr.Process
	line    string
	notify  bool
	dropped bool // the record has gone, and the tombstone knows how it ended
	gone    bool // so has the tombstone
}

func newWorld() *world {
	return &world{now: began, asked: make(map[string]int)}
}

// tick makes each thing happen at a time of its own.
func (w *world) tick() time.Time {
	w.now = w.now.Add(time.Second)
	return w.now
}

func (w *world) happened(kind procmgr.EventKind, l *life, line string) {
	w.log = append(w.log, procmgr.Event{At: w.tick(), Kind: kind, Process: l.Process, Line: line})
}

func (w *world) begin(chat string, req procmgr.StartRequest) *life {
	w.born++
	l := &life{
		Process: procmgr.Process{
			ID: cmp.Or(req.ID, "w"+strconv.Itoa(w.born)), ChatID: chat, Command: req.Command, Background: req.Background,
			State: procmgr.Running, StartedAt: w.tick(),
		},
		notify: req.Notify != "",
		line:   "line of " + strconv.Itoa(w.born),
	}
	w.all = append(w.all, l)
	w.happened(procmgr.EventStarted, l, "")
	return l
}

func (w *world) exit(l *life, code int) {
	l.State, l.ExitCode, l.EndedBy, l.ExitedAt = procmgr.Exited, &code, procmgr.CauseExit, w.tick()
	w.happened(procmgr.EventExited, l, "")
}

func (w *world) match(l *life) {
	l.notify = false
	w.happened(procmgr.EventMatched, l, "match of "+l.ID)
}

// A view is the manager of one chat of a world, or of the host itself.
type view struct {
	*world
	chat string
}

func (v view) find(id string) *life {
	v.asked["output"]++
	i := slices.IndexFunc(v.all, func(l *life) bool { return l.ID == id && (v.chat == "" || l.ChatID == v.chat) && !l.gone })
	if i < 0 {
		return nil
	}
	return v.all[i]
}

func (v view) Start(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	l := v.begin(v.chat, req)
	if v.ends {
		v.exit(l, 0)
	}
	return procmgr.Output{Process: l.Process, Text: l.line}, nil
}

func (v view) Output(_ context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	l := v.find(id)
	if l == nil {
		return procmgr.Output{}, procmgr.ErrNotFound
	}
	if l.dropped {
		return procmgr.Output{Process: l.Process}, nil
	}
	b := headtail.New(len(l.line)+1, 0)
	_, _ = b.Write([]byte(l.line + "\n")) // never fails
	out := procmgr.Output{Process: l.Process}
	out.Text, out.Truncated = b.Snapshot(0).Text(req.Limit)
	return out, nil
}

func (v view) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	v.asked["list"]++
	var list []procmgr.Process
	for _, l := range v.all {
		if (v.chat == "" || l.ChatID == v.chat) && !l.dropped && !l.gone {
			list = append(list, l.Process)
		}
	}
	return procmgr.PageOf(list, req)
}

func (v view) Signal(context.Context, string, procmgr.Signal) error { return nil }

func (v view) Events(_ context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	v.asked["events"]++
	if v.silent {
		return procmgr.EventPage{}, errors.ErrUnsupported
	}
	page := procmgr.EventPage{Next: strconv.Itoa(len(v.log))}
	after, err := strconv.Atoi(req.After)
	page.Gap = err != nil && req.After != "" || after < v.lost
	for _, e := range v.log[min(max(after, v.lost), len(v.log)):] {
		if v.chat == "" || e.Process.ChatID == v.chat {
			page.Events = append(page.Events, e)
		}
	}
	return page, nil
}
