package proclocal

import (
	"container/list"
	"context"
	"log/slog"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/shell"
)

var _ procmgr.Host = (*Local)(nil)

// New returns a Local. If opts is nil, all options have their defaults.
// New fails if the system cannot run a Local at all, or if an option
// cannot be honoured.
func New(opts *Options) (*Local, error) {
	l := newLocal(opts)
	if err := l.open(); err != nil {
		return nil, xerrors.Errorf("procmgr: new local: %w", err)
	}
	return l, nil
}

// newLocal returns a Local that has nothing of the system yet.
func newLocal(opts *Options) *Local {
	l := &Local{
		opts:   opts.withDefaults(),
		table:  newTable(),
		asking: make(map[*record]bool),
		events: retention.NewEvents(),
		exits:  list.New(),

		comparing: make(chan struct{}, comparedAtOnce),
	}
	l.sandbox, l.rules = newSandbox(l.opts.Sandbox)
	l.name = shell.Name(l.opts.Shell, osproc.LookShell)
	l.bash = l.name == "bash" && (opts == nil || len(opts.Shell) == 0)
	l.streams = capture.Options{
		Head:    l.opts.Head,
		Tail:    l.opts.Tail,
		Memory:  &l.memory,
		Grown:   l.makeRoom,
		Written: l.opts.Metrics.output(),
	}
	return l
}

// open opens what the Local has of the system.
func (l *Local) open() (err error) {
	if err := checkSecrets(l.opts.Redact); err != nil {
		return err
	}
	if l.system, err = osproc.Open(osproc.Config{Cgroup: l.opts.Cgroup, Logger: l.opts.Logger}); err != nil {
		return err
	}
	if err := l.system.Blind(); err != nil {
		l.opts.Logger.Warn("processes that leave their session cannot be found", slog.String("error", procmgr.Reason(err)))
	}
	if l.opts.LogDir != "" {
		if l.logs, err = capture.OpenLogs(l.logOptions()); err != nil {
			l.system.Close()
			return err
		}
	}
	return nil
}

func (l *Local) logOptions() capture.LogOptions {
	return capture.LogOptions{
		Dir:     l.opts.LogDir,
		Max:     l.opts.MaxLog,
		MaxAll:  l.opts.MaxLogs,
		FreeOne: l.freeLog,
		Logger:  l.opts.Logger,
	}
}

// Start implements [procmgr.Manager]. A process that the host itself starts belongs to
// no chat.
func (l *Local) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	return l.all().Start(ctx, req)
}

// Output implements [procmgr.Manager]. It finds the processes of every chat.
func (l *Local) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return l.all().Output(ctx, id, req)
}

// Signal implements [procmgr.Manager]. It finds the processes of every chat. If nobody
// has used the ID, Terminate and Kill spend it for the processes that the host
// itself starts.
func (l *Local) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	return l.all().Signal(ctx, id, sig)
}

// Describe implements [procmgr.Manager]. Its Shell is the last program in
// Options.Shell that is known to be a shell, if only that shell's own options come
// after it: "sh" in nice -n 10 sh -c. For a program that is none of the usual
// shells it is "".
//
// The name is the one in Options.Shell, with two exceptions that make a
// difference to a command: an sh that is bash is "bash", and an sh that is
// BusyBox is "ash". Describe knows them by the file that the name leads to, and
// only if Options.Shell begins with the name.
func (l *Local) Describe(ctx context.Context) (procmgr.Description, error) {
	return l.all().Describe(ctx)
}

// List implements [procmgr.Manager]. It has the processes of every chat.
func (l *Local) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return l.all().List(ctx, req)
}

// Events implements [procmgr.Manager]. It has the events of every chat, and of the
// processes that the host itself has started.
//
// The last 1,024 events of each chat are kept, and 16,384 of all chats
// together. Beyond that, the chat with the most events loses its oldest one. So
// no chat can push out the events of another chat. Events outlive the record
// and the tombstone of their process.
//
// After Close there are no more events. Those that are kept can be read, and a
// call that would have to wait for one is [procmgr.ErrClosed].
func (l *Local) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return l.all().Events(ctx, req)
}

// Input implements [procmgr.Manager]. It finds the processes of every chat. On
// Windows no process can have a stdin yet.
func (l *Local) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return l.all().Input(ctx, id, req)
}
