package guard

import (
	"context"
	"strconv"
	"sync"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procroute"
)

// Instructions tell a model what to do about a sandbox, for its system prompt.
const Instructions = "Commands run in a sandbox. If one fails and a note says that a rule of the sandbox may be the reason, " +
	"call execute once more with exactly the same command: the user is then asked to let it run without the sandbox."

// A Boxed runs every command in a sandbox, without a question. If a command has failed
// and a rule of the sandbox may be why, and the model calls for it again, a person is
// asked whether it may run outside. A command is never run again by itself.
//
// It is the Manager of one chat, and safe for concurrent use. Its Approve and OnResult
// are for [toolset.Options].
type Boxed struct {
	procmgr.Unsupported // of what a later version of Manager has

	box, free procmgr.Manager
	both      procmgr.Manager // finds a process in either
	ask       Asker
	turn      chan struct{} // holds an element while a question is asked

	mu        sync.Mutex // guards the fields below
	forbidden map[order]bool
	always    map[order]bool   // the person lets these run outside
	refused   map[order]bool   // and these not: they go on in the box
	granted   map[order]int    // how many starts outside are allowed now
	begun     map[string]begun // processes, by their IDs
}

// An order is a command in a directory.
type order struct{ command, dir string }

type begun struct {
	order
	free bool // outside of the box
}

// NewBoxed returns a Boxed of two Managers on the same machine: one whose commands are
// in a sandbox, and one whose commands are not. Both want the same WorkDir. The model
// wants [Instructions] in its system prompt:
//
//	b := guard.NewBoxed(box.Chat(id), free.Chat(id), guard.NewTerminal(os.Stdin, os.Stdout).Ask)
//	set := toolset.New(toolset.Static(b), &toolset.Options{Approve: b.Approve, OnResult: b.OnResult})
func NewBoxed(box, free procmgr.Manager, ask Asker) *Boxed {
	return &Boxed{
		box: box, free: free, ask: ask,
		both:      procroute.New(machines{"box": host{box}, "free": host{free}}, nil),
		turn:      make(chan struct{}, 1),
		forbidden: make(map[order]bool), always: make(map[order]bool), refused: make(map[order]bool),
		granted: make(map[order]int), begun: make(map[string]begun),
	}
}

// Approve is for [toolset.Options]. It asks about a command that may have been stopped,
// and about what is typed into a process outside of the box.
func (b *Boxed) Approve(ctx context.Context, q toolset.Question) (toolset.Verdict, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return toolset.Verdict{}, ctx.Err()
	}
	if q.ProcessID != "" {
		signal := q.Command == "" && len(q.Keys) == 0 && !q.Secret
		if _, free := b.known(q.ProcessID); signal || !free {
			return toolset.Verdict{}, nil
		}
		answer, err := b.ask(ctx, whole(q), false)
		return toolset.Verdict{Deny: answer == No, Reason: "the user said no"}, err
	}
	o := order{q.Command, q.WorkDir}
	if b.settled(o) {
		return toolset.Verdict{}, nil
	}
	answer, err := b.ask(ctx, "A rule of the sandbox may have stopped this command. Run it without the sandbox?\n  "+strconv.Quote(q.Command)+in(q.WorkDir), true)
	if err != nil {
		return toolset.Verdict{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch answer {
	case Always:
		b.always[o] = true
	case Once:
		b.granted[o]++
	default:
		b.refused[o] = true
		delete(b.granted, o) // a yes for a call that has ended before its start
		return toolset.Verdict{Deny: true, Reason: "the user said no: it runs in the sandbox, or not at all"}, nil
	}
	return toolset.Verdict{}, nil
}

// settled reports whether there is nothing to ask.
func (b *Boxed) settled(o order) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.forbidden[o] || b.refused[o] || b.always[o]
}

// OnResult is for [toolset.Options]. It learns which commands may have been stopped.
func (b *Boxed) OnResult(_ context.Context, _ toolset.Call, r toolset.Result) {
	if !r.Report.Forbidden || r.Output == nil {
		return
	}
	if o, free := b.known(r.Output.Process.ID); !free {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.forbidden[o] = true
	}
}

// known returns what a process was started for, and whether it is outside of the box.
func (b *Boxed) known(id string) (o order, free bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	begun := b.begun[id]
	return begun.order, begun.free
}

// place returns where a command runs. An ID that has run stays where it is.
func (b *Boxed) place(req procmgr.StartRequest) procmgr.Manager {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, known := b.begun[req.ID]
	if !known {
		one.order = order{req.Command, req.WorkDir}
		one.free = b.always[one.order]
		if !one.free && b.granted[one.order] > 0 {
			b.granted[one.order]--
			one.free = true
		}
		b.begun[req.ID] = one
	}
	if one.free {
		return b.free
	}
	return b.box
}

// Start runs a command in the box, or outside of it if a person has said so.
func (b *Boxed) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if req.ID == "" { // which tools always give
		return b.box.Start(ctx, req)
	}
	return b.place(req).Start(ctx, req)
}

// Output reads from the Manager that has the process.
func (b *Boxed) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return b.both.Output(ctx, id, req)
}

// Signal goes to the Manager that has the process.
func (b *Boxed) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	return b.both.Signal(ctx, id, sig)
}

// Input goes to the Manager that has the process.
func (b *Boxed) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return b.both.Input(ctx, id, req)
}

// List has the processes of both.
func (b *Boxed) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return b.both.List(ctx, req)
}

// Events has those of both.
func (b *Boxed) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return b.both.Events(ctx, req)
}

// Describe tells of the box: its rules are what a model has to know.
func (b *Boxed) Describe(ctx context.Context) (procmgr.Description, error) {
	return b.box.Describe(ctx)
}

// A host has the one chat that there is.
type host struct{ procmgr.Manager }

func (h host) Chat(string) procmgr.Manager { return h.Manager }

type machines map[string]procmgr.Host

func (m machines) Host(context.Context, string) (procmgr.Host, error) { return m["box"], nil }

func (m machines) Hosts(context.Context) (map[string]procmgr.Host, error) { return m, nil }
