package policy

import (
	"context"
	"math"
	"sync"
	"time"

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
// It is the Manager of one chat, and safe for concurrent use. Its Approve and Advise
// are for [toolset.Options].
type Boxed struct {
	procmgr.Manager // finds a process inside and outside of the box

	box, free procmgr.Manager
	ask       Asker
	advise    func(toolset.Report) []string
	turn      chan struct{} // holds an element while a question is asked
	made      time.Time

	mu        sync.Mutex       // guards the fields below
	forbidden map[order]*fate  // commands that a rule may have stopped
	begun     map[string]begun // processes, by their IDs
}

// An order is a command in a directory.
type order struct{ command, dir string }

// A fate is what a person has said about a command that a rule may have stopped.
type fate struct {
	settled bool // always, or no: it is not asked about again
	always  bool // it may run outside
	granted int  // how many starts outside are allowed now
}

type begun struct {
	order
	free bool // outside of the box
}

// NewBoxed returns a Boxed of two Managers on the same machine: one whose commands are
// in a sandbox, and one whose commands are not. Both want the same WorkDir. The model
// wants [Instructions] in its system prompt. Make it before the first call of the chat,
// since a start that is older by its Age is [procmgr.ErrUnknown], unless the box knows the
// ID. advise has a note on the result of a command that a rule of the sandbox may have
// stopped, as Advise of contrib/sandbox has:
//
//	b := policy.NewBoxed(box.Chat(id), free.Chat(id), policy.NewTerminal(os.Stdin, os.Stdout).Ask, sandbox.Advise(rules))
//	set, err := toolset.New(toolset.Static(b), &toolset.Options{Approve: b.Approve, Advise: b.Advise})
func NewBoxed(box, free procmgr.Manager, ask Asker, advise func(toolset.Report) []string) *Boxed {
	return &Boxed{
		Manager: procroute.New(machines{"box": host{box}, "free": host{free}}, nil),
		box:     box, free: free, ask: ask, advise: advise,
		turn:      make(chan struct{}, 1),
		made:      time.Now(),
		forbidden: make(map[order]*fate), begun: make(map[string]begun),
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
		answer, err := b.ask(ctx, question(q, factsOf(q), nil), false)
		return toolset.Verdict{Deny: answer == No, Reason: "the user said no"}, err
	}
	b.mu.Lock()
	f := b.forbidden[order{q.Command, q.WorkDir}]
	settled := f == nil || f.settled
	b.mu.Unlock()
	if settled {
		return toolset.Verdict{}, nil
	}
	answer, err := b.ask(ctx, "A rule of the sandbox may have stopped this command. Run it without the sandbox?\n  "+visible(q.Command)+in(q.WorkDir), true)
	if err != nil {
		return toolset.Verdict{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch answer {
	case Always:
		f.settled, f.always = true, true
	case Once:
		f.granted++
	default:
		*f = fate{settled: true} // without a yes for a call that has ended before its start
		return toolset.Verdict{Deny: true, Reason: "the user said no: it runs in the sandbox, or not at all"}, nil
	}
	return toolset.Verdict{}, nil
}

// Advise is for [toolset.Options]. It learns which commands may have been stopped.
func (b *Boxed) Advise(r toolset.Report) []string {
	if r.Process == nil {
		return nil
	}
	o, free := b.known(r.Process.ID)
	if free {
		return nil
	}
	notes := b.advise(r)
	if len(notes) > 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.forbidden[o] == nil {
			b.forbidden[o] = new(fate)
		}
	}
	return notes
}

// known returns what a process was started for, and whether it is outside of the box.
func (b *Boxed) known(id string) (o order, free bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	begun := b.begun[id]
	return begun.order, begun.free
}

// place returns where a command runs. An ID that has run stays where it is. One that may
// have run outside before this Boxed was made gets an Age that no Manager has, so that it
// is not started.
func (b *Boxed) place(req *procmgr.StartRequest) procmgr.Manager {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, known := b.begun[req.ID]
	if !known && req.Age > time.Since(b.made) {
		req.Age = math.MaxInt64
		return b.box
	}
	if !known {
		one.order = order{req.Command, req.WorkDir}
		if f := b.forbidden[one.order]; f != nil && (f.always || f.granted > 0) {
			one.free = true
			f.granted = max(f.granted-1, 0)
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
	return b.place(&req).Start(ctx, req)
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
