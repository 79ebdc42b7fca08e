//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proctest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// inputs is the fault of writing another way than a sound host.
func inputs(f func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error)) fault {
	return fault{input: f}
}

// types is the fault of writing another request than the caller's.
func types(f func(req *procmgr.InputRequest)) fault {
	return inputs(func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
		f(&req)
		return m.Input(ctx, id, req)
	})
}

// failsInput is the fault of returning another error of Input; nil is success.
func failsInput(f func(err error) error) fault {
	return inputs(func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
		out, err := m.Input(ctx, id, req)
		return out, f(err)
	})
}

var brokenInputs = []brokenHost{
	{
		name:  "writes nothing",
		fault: always(types(func(req *procmgr.InputRequest) { req.Data = nil })),
		fails: []string{"input/writes"},
		slow:  true,
	},
	{
		name: "returns what came before the write too",
		fault: always(inputs(func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
			out, err := m.Input(ctx, id, req)
			if err == nil {
				matched := out.Matched
				out.Output, err = m.Output(ctx, id, procmgr.OutputRequest{})
				out.Matched = matched
			}
			return out, err
		})),
		fails: []string{"input/writes"},
	},
	{
		name:  "forgets the keys",
		fault: always(types(func(req *procmgr.InputRequest) { req.Key = "" })),
		fails: []string{"input/once", "input/another key's data"},
		slow:  true,
	},
	{
		name: "takes other data for the same",
		fault: always(failsInput(func(err error) error {
			if errors.Is(err, procmgr.ErrConflict) {
				return nil
			}
			return err
		})),
		fails: []string{"input/another key's data"},
	},
	{
		name:  "does not close",
		fault: always(types(func(req *procmgr.InputRequest) { req.Close = false })),
		fails: []string{"input/close"},
		slow:  true,
	},
	{
		name: "takes everything that is invalid",
		fault: always(failsInput(func(err error) error {
			if errors.Is(err, procmgr.ErrInvalid) {
				return nil
			}
			return err
		})),
		fails: []string{"input/close", "input/no stdin"},
	},
	{
		name: "says that a process without a reader is not there",
		fault: always(failsInput(func(err error) error {
			if errors.Is(err, procmgr.ErrNotRunning) {
				return procmgr.ErrNotFound
			}
			return err
		})),
		fails: []string{"input/no reader"},
	},
	{
		name: "does not compare the stdin of a start",
		fault: func(*proclocal.Local) fault {
			var first sync.Map
			return fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
				if known, ok := first.LoadOrStore(req.ID, req); ok {
					earlier := known.(procmgr.StartRequest)
					req.Stdin, req.Size = earlier.Stdin, earlier.Size
				}
				return m.Start(ctx, req)
			}}
		},
		fails: []string{"input/part of the start"},
	},
	{
		name: "writes in pieces",
		fault: always(inputs(func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
			data, written := req.Data, 0
			for len(data) > 1000 {
				piece := req
				piece.Data, piece.Close = data[:1000], false
				out, err := m.Input(ctx, id, piece)
				written += out.Written
				if err != nil {
					return out, err
				}
				data = data[1000:]
				time.Sleep(time.Millisecond) // the others have their turn, also on a busy machine
			}
			req.Data = data
			out, err := m.Input(ctx, id, req)
			out.Written += written
			return out, err
		})),
		fails: []string{"input/together"},
	},
	{
		name: "matches what stood there before the write",
		fault: always(inputs(func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
			out, err := m.Input(ctx, id, req)
			if err == nil && req.Until != "" && !out.Matched {
				whole, lost := m.Output(ctx, id, procmgr.OutputRequest{Until: req.Until, Wait: time.Nanosecond})
				out.SearchResult, err = whole.SearchResult, lost
			}
			return out, err
		})),
		fails: []string{"input/until"},
	},
	{
		name: "does not wait for quiet",
		fault: always(types(func(req *procmgr.InputRequest) {
			if req.UntilQuiet > 0 {
				req.UntilQuiet = 1
			}
		})),
		fails: []string{"input/until quiet"},
	},
	{
		name:  "gives a pipe for a terminal",
		fault: always(starts(func(req *procmgr.StartRequest) { req.Stdin = min(req.Stdin, procmgr.StdinPipe) })),
		fails: []string{"input/terminal"},
		slow:  true,
	},
	{
		name:  "writes a secret at once",
		fault: always(types(func(req *procmgr.InputRequest) { req.Secret = false })),
		fails: []string{"input/secret"},
		slow:  true,
	},
	{
		name: "does not end a wait for a question",
		fault: always(fault{
			output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				req.UntilWaiting = false
				return m.Output(ctx, id, req)
			},
		}),
		fails: []string{"input/waits"},
		slow:  true,
	},
	{
		name: "takes every silent process for one that waits",
		fault: always(reports(func(out *procmgr.Output) {
			if out.Process.State == procmgr.Running {
				out.Waiting = &procmgr.Waiting{Since: time.Now(), PID: 1}
			}
		})),
		fails: []string{"input/does not wait"},
	},
	{
		name:  "lists no question",
		fault: always(tells(func(p *procmgr.Process) { p.Waiting = nil })),
		fails: []string{"input/waits"},
	},
	{
		name: "writes to the processes of all chats",
		fault: func(l *proclocal.Local) fault {
			return inputs(func(ctx context.Context, _ procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
				return l.Input(ctx, id, req)
			})
		},
		fails: []string{"input/another chat's"},
	},
}
