package proctest_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// shellAlone sends a signal to the shell alone.
func shellAlone(ctx context.Context, m procmgr.Manager, id string, _ procmgr.Signal) error {
	out, err := m.Output(ctx, id, procmgr.OutputRequest{})
	if err != nil {
		return err
	}
	shell, err := os.FindProcess(out.Process.PID)
	if err != nil {
		return err
	}
	return shell.Signal(syscall.SIGKILL)
}

// signalled says that the whole process is gone when its shell is gone.
func signalled(p *procmgr.Process) {
	if p.State == procmgr.Detached {
		p.State = procmgr.Exited
	}
	p.EndedBy = procmgr.CauseRequest
}

var brokenSignals = []brokenHost{
	{
		name: "kills whatever it is told",
		fault: always(signals(func(ctx context.Context, m procmgr.Manager, id string, _ procmgr.Signal) error {
			return m.Signal(ctx, id, procmgr.Kill)
		})),
		fails: []string{"signal/ends a process", "signal/a handler's exit code", "signal/refuses", "stop/interrupt before the start"},
	},
	{
		name:  "does not know who ended it",
		fault: always(tells(func(p *procmgr.Process) { p.EndedBy = procmgr.CauseSignal })),
		fails: []string{"signal/ends a process", "signal/a handler's exit code", "signal/terminate reaches the whole tree", "start/exit code"},
	},
	{
		name: "does not wait for the end of a kill",
		fault: always(signals(func(_ context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
			if _, err := m.Output(context.Background(), id, procmgr.OutputRequest{}); err != nil || sig != procmgr.Kill {
				return m.Signal(context.Background(), id, sig)
			}
			time.AfterFunc(50*time.Millisecond, func() { _ = m.Signal(context.Background(), id, sig) })
			return nil
		})),
		fails: []string{"signal/kill returns when nothing is left", "signal/kill ends what is stopped", "signal/by several at once", "signal/kill reaches the whole tree", "concurrent/many callers"},
	},
	{
		name: "terminates where it is to kill",
		fault: always(signals(func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
			if sig == procmgr.Kill {
				sig = procmgr.Terminate
			}
			return m.Signal(ctx, id, sig)
		})),
		fails: []string{"signal/kill returns when nothing is left", "signal/by several at once", "signal/kill ends what is stopped"},
		slow:  true,
	},
	{
		name: "does not continue what is stopped",
		fault: always(signals(func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
			out, err := m.Output(ctx, id, procmgr.OutputRequest{})
			if err != nil || sig == procmgr.Kill {
				return m.Signal(ctx, id, sig)
			}
			shell, err := os.FindProcess(out.Process.PID)
			if err != nil {
				return err
			}
			return shell.Signal(syscall.SIGTERM)
		})),
		fails: []string{"signal/terminate ends what is stopped", "signal/interrupt ends what is stopped"},
		slow:  true,
	},
	{
		name:  "signals the shell alone",
		fault: always(signals(shellAlone)),
		fails: []string{"signal/terminate reaches the whole tree", "signal/interrupt reaches the whole tree", "signal/kill reaches the whole tree", "signal/what has left the session", "detached/kill", "detached/terminate"},
		slow:  true,
	},
	{
		name:  "signals the shell alone and says that all is gone",
		fault: always(signals(shellAlone).and(tells(signalled))),
		fails: []string{"signal/terminate reaches the whole tree", "signal/interrupt reaches the whole tree", "signal/kill reaches the whole tree", "signal/what has left the session"},
		slow:  true,
	},
	{
		name: "says that what has ended is not there",
		fault: always(answers(func(err error) error {
			if errors.Is(err, procmgr.ErrNotRunning) {
				return procmgr.ErrNotFound
			}
			return err
		})),
		fails: []string{"signal/after the exit", "detached/wait for the rest"},
	},
	{
		name: "succeeds with what has ended",
		fault: always(answers(func(err error) error {
			if errors.Is(err, procmgr.ErrNotRunning) {
				return nil
			}
			return err
		})),
		fails: []string{"signal/after the exit", "detached/wait for the rest"},
	},
	{
		name: "says that what is detached has ended",
		fault: always(signals(func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
			if out, err := m.Output(ctx, id, procmgr.OutputRequest{}); err == nil && out.Process.State == procmgr.Detached {
				return procmgr.ErrNotRunning
			}
			return m.Signal(ctx, id, sig)
		})),
		fails: []string{"detached/kill", "detached/terminate"},
	},
	{
		name: "takes the exit code of what was left",
		fault: always(tells(func(p *procmgr.Process) {
			if p.State == procmgr.Exited && p.EndedBy == procmgr.CauseRequest {
				*p.ExitCode = 0
			}
		})),
		fails: []string{"detached/kill", "detached/terminate", "signal/a handler's exit code"},
	},
	{
		name: "ends all at once",
		fault: func(l *proclocal.Local) fault {
			return signals(func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
				err := m.Signal(ctx, id, sig)
				page, _ := l.List(ctx, procmgr.ListRequest{})
				all := page.Processes
				for _, p := range all {
					_ = l.Signal(ctx, p.ID, sig)
				}
				return err
			})
		},
		fails: []string{"signal/hits no other", "isolation/of other chats", "list/order and states"},
	},
	{
		name: "is overtaken by the start",
		fault: always(fault{
			start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
				time.Sleep(5 * time.Millisecond) // so that a stop comes before it
				return m.Start(ctx, req)
			},
			signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
				if _, err := m.Output(ctx, id, procmgr.OutputRequest{}); errors.Is(err, procmgr.ErrNotFound) {
					return err // and does not spend the ID
				}
				return m.Signal(ctx, id, sig)
			},
		}),
		fails: []string{"stop/terminate before the start", "stop/kill before the start", "stop/of the host itself", "stop/one chat's alone", "stop/in a race"},
	},
	{
		name: "spends by an interrupt",
		fault: always(signals(func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
			err := m.Signal(ctx, id, sig)
			if errors.Is(err, procmgr.ErrNotFound) {
				err = m.Signal(ctx, id, procmgr.Terminate)
			}
			return err
		})),
		fails: []string{"stop/interrupt before the start"},
	},
	{
		name: "spends for all chats",
		fault: func(*proclocal.Local) fault {
			var spent sync.Map
			return fault{
				start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
					if _, ok := spent.Load(req.ID); ok {
						return procmgr.Output{}, procmgr.ErrConflict
					}
					return m.Start(ctx, req)
				},
				signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
					err := m.Signal(ctx, id, sig)
					if errors.Is(err, procmgr.ErrNotFound) && sig != procmgr.Interrupt {
						spent.Store(id, true)
					}
					return err
				},
			}
		},
		fails: []string{"stop/one chat's alone"},
	},
}
