package proclocal

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/input"
)

// start is Start in one chat.
func (l *Local) start(ctx context.Context, chat string, req procmgr.StartRequest) (procmgr.Output, error) {
	out, err := l.startOnce(ctx, chat, req)
	if err != nil && out.Process.ID == "" {
		l.opts.Metrics.Refused(err)
	}
	return out, err
}

func (l *Local) startOnce(ctx context.Context, chat string, req procmgr.StartRequest) (procmgr.Output, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.Output{}, err
	}
	if err := check.Start(req); err != nil {
		return procmgr.Output{}, err
	}
	if len(req.Command) > osproc.MaxCommand {
		return procmgr.Output{}, xerrors.Errorf("the command has %d bytes, this system takes at most %d as one argument; write it to a script file and run that: %w",
			len(req.Command), osproc.MaxCommand, procmgr.ErrInvalid)
	}
	notify, err := capture.NewNotice(req.Notify)
	if err != nil {
		return procmgr.Output{}, err
	}
	key := idempotency.OfStart(req)
	l.mu.Lock()
	known, err := l.used(chat, req.ID, key, req.Age)
	r, mine := known.record, err == nil && known == answer{}
	if mine {
		err = check.Age(req.Age, l.table.whole)
	}
	if mine && err == nil {
		r, err = l.reserve(chat, req.ID, key, req.Stdin == procmgr.StdinTerminal)
	}
	l.mu.Unlock()
	if err != nil {
		return procmgr.Output{}, err
	}
	if past := known.past; past != nil {
		out := past.output(procmgr.OutputRequest{})
		out.Attached = true
		return out, nil
	}
	if mine {
		// A hook or a dead mount can hang for ever, and this call must not.
		go l.launch(ctx, r, req, notify) // Close waits for it, or gives it up
	}
	if failed, err := r.started(ctx); failed && r.phase != abandoned {
		return procmgr.Output{}, err
	} else if err != nil {
		return procmgr.Output{Process: procmgr.Process{ID: r.id, ChatID: chat}}, err // the command may have begun
	}
	if mine && r.told != nil {
		<-r.told
	}
	err = r.wait(ctx, procmgr.Running, req.Wait, nil, r.asks(req.UntilWaiting)...)
	out := r.output(0, req.Limit, req.Highlight, nil)
	out.Attached = !mine
	return out, err
}

// launch starts the command of a reserved record, or gives up the reservation. ctx is
// for Options.PerChat. notify is for StartRequest.Notify; nil is none.
func (l *Local) launch(ctx context.Context, r *record, req procmgr.StartRequest, notify *capture.Matcher) {
	r.origin = baseenv.From(ctx)
	process, err := l.spawn(ctx, r, req)
	l.mu.Lock()
	unheard := !l.answer(r, err)
	l.mu.Unlock()
	if unheard && err == nil {
		r.shown.Store(process)
		l.endUnheard(r)
	} else if unheard {
		r.refused()
	}
	if r.phase == abandoned {
		l.abandoned.Done()
	}
	if unheard {
		return
	}
	if err != nil {
		r.log(slog.LevelWarn, "process not started", slog.String("error", err.Error()))
		r.refused()
		l.giveUp(r)
		return
	}
	if l.logs != nil {
		r.out.LogTo(l.logs)
	}
	if notify != nil {
		r.out.Notify(notify, func(line string) { l.matched(r, line) })
	}
	r.shown.Store(process)
	l.watchForPrompts(r)
	began := r.snapshot()
	l.opts.Metrics.Started()
	l.wg.Add(1) // Close waits for the line below, too, and for OnStart
	defer l.wg.Done()
	l.mu.Lock()
	close(r.ready)
	l.happened(procmgr.EventStarted, began.StartedAt, began, "")
	l.mu.Unlock()
	go l.watch(r, min(l.opts.MaxLifetime, cmp.Or(req.MaxLifetime, math.MaxInt64))) // from now on there is output, and an end
	r.log(slog.LevelInfo, "process started", slog.Int("pid", began.PID))
	if f := l.opts.OnStart; f != nil {
		defer close(r.told)
		r.hook("OnStart", func() { f(began) })
	}
}

// answer decides a start. If err is not nil, it gives up the reservation: the ID
// is then unused again, and the caller calls giveUp when it has told of the error.
// It reports false if Close has answered the start already. The caller holds the Local's
// mu.
func (l *Local) answer(r *record, err error) bool {
	if r.phase > forking {
		return false
	}
	if r.phase = begun; err != nil {
		r.phase, r.failed = refused, err
		l.table.exited(r)
		l.table.remove(r, nil)
	}
	return true
}

// giveUp releases those who wait for a start that has failed, Close included.
func (l *Local) giveUp(r *record) {
	close(r.ready)
	l.wg.Done()
}

// endUnheard ends a command that began when Close had answered its start
// already.
func (l *Local) endUnheard(r *record) {
	_, _ = l.system.Signal([]*osproc.Tree{r.tree}, osproc.SIGKILL) // what it finds later it kills, too
	r.gone(r.tree.Follow(func(osproc.Exit) {}))
	r.tree.Release()
	r.out.Drop()
}

// fork notes that a start is about to fork. It returns ErrClosed if Close was called.
func (l *Local) fork(r *record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return procmgr.ErrClosed
	}
	r.phase = forking
	return nil
}

// spawn forks, and returns the process as it has begun. The caller holds no lock.
func (l *Local) spawn(ctx context.Context, r *record, req procmgr.StartRequest) (*procmgr.Process, error) {
	own, err := l.chatSetup(ctx, r)
	if err != nil {
		return nil, err
	}
	if names := own.env.Withheld; len(names) > 0 {
		r.log(slog.LevelDebug, "environment variables withheld", slog.Any("names", names))
	}
	env := l.environ(r, req, own)
	r.lacks = slices.DeleteFunc(slices.Clone(own.env.Withheld), func(name string) bool {
		_, given := req.Env[name]
		return given
	})
	r.withheld = named(r.lacks, req.Command)
	dir, err := directory(r.origin, req.WorkDir, own.workDir, homeOf(env))
	if err != nil {
		return nil, err
	}
	env = withDirectory(env, req, dir)
	r.masks = l.masks.of(l.secrets(own.env.Secrets, pairs(req.Env), env))
	command := req.Command
	if command[0] == '-' || command[0] == '+' {
		command = " " + command // or the shell takes the command for options
	}
	c := osproc.Command{Argv: append(slices.Clone(l.opts.Shell), command), Dir: dir, Env: env}
	if err := hold(&c, own.sandbox); err != nil {
		return nil, err
	}

	process := &procmgr.Process{
		ID:         r.id,
		ChatID:     r.chat,
		Command:    req.Command,
		WorkDir:    dir,
		Background: req.Background,
		Stdin:      req.Stdin,
		State:      procmgr.Running,
		StartedAt:  time.Now(),
	}
	if err := l.fork(r); err != nil {
		return nil, err
	}
	r.out = capture.NewStream(&l.streams, int64(len(req.Command)))
	r.out.Redact(r.masks)
	c.Output = r.out
	if req.Stdin != procmgr.StdinEmpty {
		r.in = input.New(req, r.out, r.exited, r.masks)
		c.Output, c.Stdin, c.Size = r.in, input.Kind(req.Stdin), osproc.Size{Cols: input.Cols, Rows: input.Rows}
	}
	if from := r.origin; from != nil && from.Claim != nil {
		c.Claim = func(lineage osproc.Lineage) error { return cmp.Or(from.Claim(lineage), l.fork(r)) }
	}
	if r.tree, err = l.system.Start(c); err != nil {
		r.out.Drop()
		return nil, err
	}
	if r.in != nil {
		r.in.Open(r.tree.Input())
	}
	process.PID = r.tree.PID()
	return process, nil
}
