package proclocal

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// A goroutine takes locks in this order, and may leave out any of them:
//
//	a pipe of osproc         held while its stream takes the bytes that were read
//	a stream's logging       held until its log has them too, even on a slow disk
//	Local.mu
//	record.mu
//	a log's mu, its Logs' mu
//
// An inlet's mu is held under a pipe while the screen draws, and nothing comes after
// it. A stream's mu comes after Local.mu, and only its Buffer's lock comes after it.
// The lock of a prompt.Watch comes before the one with which an inlet guards the time
// of the last output. Every other lock is held alone. Under all locks but the first
// two, code must not fork, wait, write to the disk or call the host. Under the first
// two, it must not call the host except for Metrics.Output.

// Local runs processes on this machine. It is a [procmgr.Host], and safe for concurrent
// use.
//
// A program that uses a Local must call Close before it ends. It must also
// handle the signals that would end it otherwise: Ctrl-C in its terminal
// reaches the program and none of its commands. See Close.
type Local struct {
	opts   Options
	system *osproc.System
	logs   *capture.Logs // nil if Options.LogDir is not set

	memory    atomic.Int64 // bytes of output that all records keep
	maxMemory atomic.Int64 // Options.OutputMemory, or what a keeper's opener has set since
	streams   capture.Options

	policy    baseenv.PolicyApplier
	masks     masks
	name      string        // of the shell, "" if it cannot be told
	bash      bool          // the shell is the default one, and bash
	comparing chan struct{} // has a place for each comparison that is under way

	wg        sync.WaitGroup // the launch and watch of every record
	abandoned sync.WaitGroup // the launch of each start that Close has not waited for

	// mu guards the fields below. It is held for moments only: never across a
	// fork, a wait or a look at /proc.
	mu     sync.Mutex
	closed bool          // nothing is started any more
	retain time.Duration // Options.Retain, or what a keeper's opener has set since
	seq    uint64
	table  *table
	asking map[*record]bool // that have a stdin and have not exited
	events *eventLog
	exits  []*record   // the records that have exited, in the order of their exits
	expiry *time.Timer // calls retire when the first of them is to go

	closing  sync.Once
	closeErr error
}

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
		events: newEventLog(),

		comparing: make(chan struct{}, comparedAtOnce),
	}
	l.expiry = time.AfterFunc(math.MaxInt64, l.retire)
	l.expiry.Stop()
	l.retain, l.policy.Policy = l.opts.Retain, &l.opts.Env
	l.maxMemory.Store(l.opts.OutputMemory)
	l.name = shellOf(l.opts.Shell, osproc.LookShell)
	l.bash = l.name == "bash" && (opts == nil || len(opts.Shell) == 0)
	l.streams = capture.Options{
		Head:    l.opts.Head,
		Tail:    l.opts.Tail,
		Memory:  &l.memory,
		Grown:   l.makeRoom,
		Written: l.opts.Metrics.Output,
	}
	return l
}

// open opens what the Local has of the system.
func (l *Local) open() (err error) {
	if err := checkSecrets(l.opts.Redact); err != nil {
		return err
	}
	if l.opts.Sandbox == nil { // or the shell may be in the sandbox alone
		if _, err := osproc.FindShell(l.opts.Shell[0]); err != nil {
			return err
		}
	}
	if l.opts.WorkDir, err = baseenv.WorkDir(l.opts.WorkDir); err == nil && l.opts.WorkDir != "" {
		err = osproc.CheckDirectory(l.opts.WorkDir)
	}
	if err != nil {
		return xerrors.Errorf("Options.WorkDir: %w", err)
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

// Signal implements [procmgr.Manager]. It finds the processes of every chat. If the ID
// is unused, Terminate and Kill spend it for the processes that the host itself starts.
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
//
// With Options.PerChat the rules may differ between chats. Describe of a chat's Manager
// calls PerChat and has the rules of that chat, or no Sandbox if PerChat fails. Describe of
// the Local has no Sandbox.
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
// The last 1,024 events of each chat are kept, and 16,384 of all chats together. Beyond
// that, the chat with the most events loses its oldest one. So no chat can push out the
// events of another chat. Events outlive the record and the tombstone of their process.
//
// After Close there are no new events. The events that are kept can still be read, and
// a call that would have to wait is [procmgr.ErrClosed].
func (l *Local) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return l.all().Events(ctx, req)
}

// Input implements [procmgr.Manager]. It finds the processes of every chat. On
// Windows no process can have a stdin yet.
func (l *Local) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return l.all().Input(ctx, id, req)
}

// A view is a Local as the host sees it, or as one chat does.
type view struct {
	l    *Local
	chat string // "" for the host, who sees all
	err  error  // why the ID of the chat cannot be used: isolation fails closed
}

var _ procmgr.Manager = view{}

// Chat implements [procmgr.Host]. The ID of a chat has 1 to 256 bytes of UTF-8 and no
// control character. With any other ID every call is [procmgr.ErrInvalid].
func (l *Local) Chat(id string) procmgr.Manager { return view{l: l, chat: id, err: check.Chat(id)} }

// all is the host's view.
func (l *Local) all() view { return view{l: l} }

// of returns the chat of a process.
func (v view) of(id string) (string, error) {
	if v.err != nil || v.chat != "" {
		return v.chat, v.err
	}
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.l.table.chatOf(id)
}

func (v view) Start(ctx context.Context, req procmgr.StartRequest) (out procmgr.Output, err error) {
	if err = v.err; err == nil {
		out, err = v.l.start(ctx, v.chat, req)
	}
	return out, callerr.Wrap("start", req.ID, err)
}

func (v view) Output(ctx context.Context, id string, req procmgr.OutputRequest) (out procmgr.Output, err error) {
	chat, err := v.of(id)
	if err == nil {
		out, err = v.l.output(ctx, chat, id, req)
	}
	return out, callerr.Wrap("output", id, err)
}

func (v view) Input(ctx context.Context, id string, req procmgr.InputRequest) (out procmgr.InputOutput, err error) {
	chat, err := v.of(id)
	if err == nil {
		out, err = v.l.input(ctx, chat, id, req)
	}
	return out, callerr.Wrap("input", id, err)
}

func (v view) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	chat, err := v.of(id)
	if err == nil || v.chat == "" && errors.Is(err, procmgr.ErrNotFound) {
		err = v.l.signal(ctx, chat, id, sig)
	}
	return callerr.Wrap("signal", id, err)
}

func (v view) List(ctx context.Context, req procmgr.ListRequest) (page procmgr.ListPage, err error) {
	if err = v.err; err == nil {
		page, err = v.l.list(ctx, v.chat, req)
	}
	return page, callerr.Wrap("list", "", err)
}

func (v view) Events(ctx context.Context, req procmgr.EventsRequest) (page procmgr.EventPage, err error) {
	if err = v.err; err == nil {
		page, err = v.l.tell(ctx, v.chat, req)
	}
	return page, callerr.Wrap("events", "", err)
}

func (v view) Describe(ctx context.Context) (procmgr.Description, error) {
	if err := cmp.Or(v.err, ctx.Err()); err != nil {
		return procmgr.Description{}, callerr.Wrap("describe", "", err)
	}
	return procmgr.Description{Shell: v.l.name, OS: runtime.GOOS, Sandbox: v.rules(ctx)}, nil
}

// hook runs a function of Options.
func (r *record) hook(name string, f func()) { baseenv.Log(r.log).Hook(name, f) }
