package proctest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// always gives every host the same fault.
func always(f fault) func(*proclocal.Local) fault {
	return func(*proclocal.Local) fault { return f }
}

var brokenStarts = []brokenHost{
	{
		name:  "loses the exit code",
		fault: always(tells(func(p *procmgr.Process) { p.ExitCode = nil })),
		fails: []string{"start/exit code", "start/death by a signal", "detached/wait ends", "signal/ends a process", "list/order and states"},
	},
	{
		name: "exits with success alone",
		fault: always(tells(func(p *procmgr.Process) {
			if p.ExitCode != nil {
				*p.ExitCode = 0
			}
		})),
		fails: []string{"start/exit code", "signal/a handler's exit code", "concurrent/many processes"},
	},
	{
		name:  "forgets the signal",
		fault: always(tells(func(p *procmgr.Process) { p.Signal = "" })),
		fails: []string{"start/death by a signal", "signal/ends a process", "signal/kill ends what is stopped", "detached/exit code"},
	},
	{
		name: "takes exit codes for signals",
		fault: always(tells(func(p *procmgr.Process) {
			if p.ExitCode != nil && *p.ExitCode == 137 {
				p.Signal, p.EndedBy = "SIGKILL", procmgr.CauseSignal
			}
		})),
		fails: []string{"start/a child's death by a signal", "signal/ends a process"},
	},
	{
		name:  "says that all has exited",
		fault: always(tells(func(p *procmgr.Process) { p.State = procmgr.Exited })),
		fails: []string{"start/returns once started", "start/wait ends at the time", "wait/ends at the time", "list/order and states", "detached/wait ends"},
	},
	{
		name:  "says that all runs",
		fault: always(tells(func(p *procmgr.Process) { p.State = procmgr.Running })),
		fails: []string{"start/exit code", "start/wait ends at the exit", "wait/ends at the exit"},
		slow:  true,
	},
	{
		name:  "has no PID",
		fault: always(tells(func(p *procmgr.Process) { p.PID = 0 })),
		fails: []string{"start/returns once started"},
	},
	{
		name:  "has an end from the start",
		fault: always(tells(func(p *procmgr.Process) { p.ExitedAt, p.EndedBy = time.Now(), procmgr.CauseExit })),
		fails: []string{"start/returns once started", "start/fields", "detached/wait ends"},
	},
	{
		name: "does not wait",
		fault: always(starts(func(req *procmgr.StartRequest) { req.Wait = 0 }).
			and(reads(func(req *procmgr.OutputRequest) { req.Wait = 0 }))),
		fails: []string{"start/exit code", "start/wait ends at the time", "wait/ends at the time", "until/what arrives later"},
		slow:  true,
	},
	{
		name: "waits out its time",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			end := time.Now().Add(req.Wait)
			out, err := m.Start(ctx, req)
			until(ctx, end)
			return out, err
		}}),
		fails: []string{"start/wait ends at the exit", "once/attach after the exit", "detached/wait ends"},
		slow:  true,
	},
	{
		name: "ends the process with the wait",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if req.Wait > 0 && out.Process.State == procmgr.Running {
				_ = m.Signal(context.Background(), out.Process.ID, procmgr.Kill)
			}
			return out, err
		}}),
		fails: []string{"start/wait ends at the time", "start/context ends during the wait", "start/deadline during the wait"},
	},
	{
		name: "ties the process to the context",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			stop := context.AfterFunc(ctx, func() { _ = m.Signal(context.Background(), req.ID, procmgr.Kill) })
			if req.ID == "" {
				req.ID = procmgr.NewID()
			}
			out, err := m.Start(ctx, req)
			if err != nil && out.Process.ID == "" {
				stop()
			}
			return out, err
		}}),
		fails: []string{"start/outlives its context"},
	},
	{
		name: "ignores the context",
		fault: always(fault{
			start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
				return m.Start(context.WithoutCancel(ctx), req)
			},
			output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				return m.Output(context.WithoutCancel(ctx), id, req)
			},
		}),
		fails: []string{
			"start/context ends during the wait", "start/deadline during the wait", "start/context ended before",
			"wait/context ends", "wait/context ended before",
		},
		slow: true,
	},
	{
		name: "returns no ID with an error",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if err != nil {
				out = procmgr.Output{}
			}
			return out, err
		}}),
		fails: []string{"start/context ends during the wait"},
	},
	{
		name: "starts although the context has ended",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			if ctx.Err() != nil {
				_, _ = m.Start(context.WithoutCancel(ctx), procmgr.StartRequest{ID: req.ID, Command: req.Command})
				return procmgr.Output{}, ctx.Err()
			}
			return m.Start(ctx, req)
		}}),
		fails: []string{"start/context ended before"},
	},
	{
		name: "answers another error than that of the context",
		fault: always(answers(func(err error) error {
			if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				return errors.New("timed out")
			}
			return err
		})),
		fails: []string{"start/context ends during the wait", "wait/context ends", "wait/context ended before"},
	},
	{
		name: "runs something for what is invalid",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if errors.Is(err, procmgr.ErrInvalid) {
				return m.Start(ctx, procmgr.StartRequest{Command: "true"})
			}
			return out, err
		}}),
		fails: []string{"start/refuses", "directory/missing"},
	},
	{
		name: "says something else than invalid",
		fault: always(answers(func(err error) error {
			if errors.Is(err, procmgr.ErrInvalid) {
				return procmgr.ErrUnknown
			}
			return err
		})),
		fails: []string{"start/refuses", "directory/missing", "until/refuses", "signal/refuses", "chat/empty", "chat/too long"},
	},
	{
		name: "makes odd IDs",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if req.ID == "" && err == nil {
				out.Process.ID = "process " + out.Process.ID
			}
			return out, err
		}}),
		fails: []string{"start/IDs of the host"},
	},
	{
		name: "has words for itself",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			if req.ID == "list" {
				return procmgr.Output{}, procmgr.ErrInvalid
			}
			return m.Start(ctx, req)
		}}),
		fails: []string{"start/IDs of the caller"},
	},
	{
		name:  "folds the case of IDs",
		fault: always(tells(func(p *procmgr.Process) { p.ID = strings.ToLower(p.ID) })),
		fails: []string{"start/IDs of the caller"},
	},
	{
		name:  "starts anew whenever it is asked",
		fault: always(tells(func(p *procmgr.Process) { p.StartedAt = time.Now() })),
		fails: []string{"start/fields", "once/attach while it runs"},
	},
	{
		name:  "loses the label",
		fault: always(tells(func(p *procmgr.Process) { p.Background = false })),
		fails: []string{"start/background is a label", "start/fields"},
	},
	{
		name: "runs twice",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if out.Attached {
				id := req.ID
				req.ID = ""
				out, err = m.Start(ctx, req)
				out.Process.ID = id
			}
			return out, err
		}}),
		fails: []string{
			"once/attach while it runs", "once/attach after the exit", "once/eight at the same instant",
			"once/labels do not count", "once/of the host itself", "list/attached once",
		},
	},
	{
		name:  "does not say that it attached",
		fault: always(reports(func(out *procmgr.Output) { out.Attached = false })),
		fails: []string{"once/attach while it runs", "once/attach after the exit", "once/eight at the same instant"},
	},
	{
		name:  "says that it attached always",
		fault: always(reports(func(out *procmgr.Output) { out.Attached = true })),
		fails: []string{"start/exit code", "once/attach while it runs", "once/attach after the exit", "once/eight at the same instant", "once/another ID runs again", "chat/odd names"},
	},
	{
		name: "attaches without a wait",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			wait := req.Wait
			req.Wait = 0
			out, err := m.Start(ctx, req)
			if err != nil || out.Attached || wait == 0 {
				return out, err
			}
			return m.Output(ctx, out.Process.ID, procmgr.OutputRequest{Wait: wait, Limit: req.Limit})
		}}),
		fails: []string{"once/attach waits"},
	},
	{
		name: "lets labels count",
		fault: func(*proclocal.Local) fault {
			var mu sync.Mutex
			labels := map[string]bool{}
			return fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
				mu.Lock()
				label, used := labels[req.ID]
				labels[req.ID] = req.Background
				mu.Unlock()
				if req.ID != "" && used && label != req.Background {
					return procmgr.Output{}, procmgr.ErrConflict
				}
				return m.Start(ctx, req)
			}}
		},
		fails: []string{"once/labels do not count"},
	},
	{
		name: "attaches whatever is asked for",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if errors.Is(err, procmgr.ErrConflict) {
				out, err = m.Output(ctx, req.ID, procmgr.OutputRequest{Wait: req.Wait})
				out.Attached = true
			}
			return out, err
		}}),
		fails: []string{"once/conflict while it runs", "once/conflict after the exit", "once/of the host itself", "concurrent/the caller's to change"},
	},
	{
		name: "runs each command once",
		fault: func(*proclocal.Local) fault {
			var ran sync.Map
			return fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
				if id, ok := ran.Load(req.Command); ok {
					return m.Output(ctx, id.(string), procmgr.OutputRequest{Wait: req.Wait})
				}
				out, err := m.Start(ctx, req)
				ran.Store(req.Command, out.Process.ID)
				return out, err
			}}
		},
		fails: []string{"once/another ID runs again"},
	},
	{
		name: "spends the ID of a refused start",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if errors.Is(err, procmgr.ErrInvalid) && req.ID != "" {
				_ = m.Signal(ctx, req.ID, procmgr.Terminate)
			}
			return out, err
		}}),
		fails: []string{"directory/missing"},
	},
}
