package proctest_test

import (
	"context"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// A fault replaces methods of a sound host by broken ones. A nil field leaves
// the sound method.
type fault struct {
	start  func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error)
	output func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error)
	list   func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error)
	signal func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error
	events func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error)
	input  func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error)

	describe func(ctx context.Context, m procmgr.Manager) (procmgr.Description, error)

	chat func(h procmgr.Host, id string) procmgr.Manager
}

// A manager is a sound Manager with a fault.
type manager struct {
	procmgr.Manager
	fault fault
}

func (m manager) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if m.fault.start == nil {
		return m.Manager.Start(ctx, req)
	}
	return m.fault.start(ctx, m.Manager, req)
}

func (m manager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if m.fault.output == nil {
		return m.Manager.Output(ctx, id, req)
	}
	return m.fault.output(ctx, m.Manager, id, req)
}

func (m manager) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if m.fault.list == nil {
		return m.Manager.List(ctx, req)
	}
	return m.fault.list(ctx, m.Manager, req)
}

func (m manager) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if m.fault.signal == nil {
		return m.Manager.Signal(ctx, id, sig)
	}
	return m.fault.signal(ctx, m.Manager, id, sig)
}

func (m manager) Describe(ctx context.Context) (procmgr.Description, error) {
	if m.fault.describe == nil {
		return m.Manager.Describe(ctx)
	}
	return m.fault.describe(ctx, m.Manager)
}

func (m manager) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if m.fault.events == nil {
		return m.Manager.Events(ctx, req)
	}
	return m.fault.events(ctx, m.Manager, req)
}

func (m manager) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	if m.fault.input == nil {
		return m.Manager.Input(ctx, id, req)
	}
	return m.fault.input(ctx, m.Manager, id, req)
}

// A host is a sound Host with a fault, which its chats have too.
type host struct {
	manager
	sound procmgr.Host
}

func newHost(sound procmgr.Host, f fault) host { return host{manager{sound, f}, sound} }

func (h host) Chat(id string) procmgr.Manager {
	if h.fault.chat == nil {
		return manager{h.sound.Chat(id), h.fault}
	}
	return manager{h.fault.chat(h.sound, id), h.fault}
}

// tells is the fault of returning false fields of processes.
func tells(f func(p *procmgr.Process)) fault {
	fault := reports(func(out *procmgr.Output) { f(&out.Process) })
	fault.list = func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
		page, err := m.List(ctx, req)
		for i := range page.Processes {
			f(&page.Processes[i])
		}
		return page, err
	}
	return fault
}

// reports is the fault of Start and Output returning a false answer about a
// process.
func reports(f func(out *procmgr.Output)) fault {
	return fault{
		start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if out.Process.ID != "" {
				f(&out)
			}
			return out, err
		},
		output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if out.Process.ID != "" {
				f(&out)
			}
			return out, err
		},
	}
}

// prints is the fault of returning another output than the command printed.
func prints(f func(out *procmgr.Output, req procmgr.OutputRequest)) fault {
	return fault{
		start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if err == nil {
				f(&out, procmgr.OutputRequest{Limit: req.Limit})
			}
			return out, err
		},
		output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if err == nil {
				f(&out, req)
			}
			return out, err
		},
	}
}

// starts is the fault of starting another request than the caller's, and
// reporting it as if it were the caller's.
func starts(f func(req *procmgr.StartRequest)) fault {
	return fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
		command := req.Command
		f(&req)
		out, err := m.Start(ctx, req)
		if out.Process.ID != "" {
			out.Process.Command = command
		}
		return out, err
	}}
}

// reads is the fault of reading with another request than the caller's.
func reads(f func(req *procmgr.OutputRequest)) fault {
	return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
		f(&req)
		return m.Output(ctx, id, req)
	}}
}

// answers is the fault of returning another error; nil is success.
func answers(f func(err error) error) fault {
	return fault{
		start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			return out, f(err)
		},
		output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			return out, f(err)
		},
		list: func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
			page, err := m.List(ctx, req)
			return page, f(err)
		},
		signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
			return f(m.Signal(ctx, id, sig))
		},
	}
}

// signals is the fault of sending another signal than the caller's, or to
// another process.
func signals(f func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error) fault {
	return fault{signal: f}
}

// names is the fault of taking one chat for another.
func names(f func(id string) string) fault {
	return fault{chat: func(h procmgr.Host, id string) procmgr.Manager { return h.Chat(f(id)) }}
}

// and puts two faults together. The methods of the second win.
func (f fault) and(g fault) fault {
	if g.start != nil {
		f.start = g.start
	}
	if g.output != nil {
		f.output = g.output
	}
	if g.list != nil {
		f.list = g.list
	}
	if g.signal != nil {
		f.signal = g.signal
	}
	if g.events != nil {
		f.events = g.events
	}
	if g.input != nil {
		f.input = g.input
	}
	if g.describe != nil {
		f.describe = g.describe
	}
	if g.chat != nil {
		f.chat = g.chat
	}
	return f
}

// until sleeps for the rest of a wait, or until ctx ends.
func until(ctx context.Context, end time.Time) {
	select {
	case <-time.After(time.Until(end)):
	case <-ctx.Done():
	}
}

// A memory says what has come before.
type memory struct {
	mu  sync.Mutex // guards all
	all map[string]bool
}

func newMemory() *memory { return &memory{all: make(map[string]bool)} }

// knows reports whether a text has come before, and remembers it.
func (m *memory) knows(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.all[text]
	m.all[text] = true
	return was
}

// has is knows for a text that is not to be remembered.
func (m *memory) has(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[text]
}
