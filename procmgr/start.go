package procmgr

import (
	"context"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/xerrors"
)

// start is Start in one chat.
func (l *Local) start(ctx context.Context, chat string, req StartRequest) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	if req.ID != "" {
		if err := checkID(req.ID); err != nil {
			return Output{}, err
		}
	}
	if err := checkCommand(req); err != nil {
		return Output{}, err
	}
	r, past, mine, err := l.reserve(chat, req)
	if err != nil {
		return Output{}, err
	}
	if past != nil {
		out := past.output(0)
		out.Process.Attached = true
		return out, nil
	}
	if mine {
		err = l.launch(r, req)
	} else {
		err = r.started(ctx)
	}
	if err != nil {
		if ctx.Err() != nil && !mine {
			return Output{Process: Process{ID: r.id, ChatID: chat}}, err // it may have begun
		}
		return Output{}, err
	}
	err = r.wait(ctx, Running, req.Wait, nil)
	out := r.output(0, req.Limit)
	out.Process.Attached = !mine
	return out, err
}

// launch starts a reserved record's command, or gives the reservation up.
func (l *Local) launch(r *record, req StartRequest) error {
	err := l.spawn(r, req)
	if err != nil {
		r.failed = err
		l.forget(r)
		close(r.ready)
		r.log(slog.LevelWarn, "process not started", slog.Any("error", err))
		return err
	}
	go r.pipe.collect() // ends with the pipe, which watch closes
	close(r.ready)
	r.log(slog.LevelInfo, "process started", slog.Int("pid", r.process.PID))
	if f := l.opts.OnStart; f != nil {
		l.hook("OnStart", r, func() { f(r.snapshot()) })
	}
	go r.watch()
	return nil
}

// spawn forks. No lock is held.
func (l *Local) spawn(r *record, req StartRequest) error {
	dir, err := l.directory(r, req.WorkDir)
	if err != nil {
		return err
	}
	shell, err := exec.LookPath(l.opts.Shell[0])
	if err != nil {
		return xerrors.Errorf("the shell %q is not there (%v); install it or set Options.Shell: %w", l.opts.Shell[0], err, ErrInvalid)
	}
	command := req.Command
	if command[0] == '-' || command[0] == '+' {
		command = " " + command // or the shell takes it for options
	}
	argv := make([]string, 0, len(l.opts.Shell)+1)
	argv = append(append(argv, l.opts.Shell...), command)

	process := Process{
		ID:         r.id,
		ChatID:     r.chat,
		Command:    req.Command,
		WorkDir:    dir,
		Background: req.Background,
		State:      Running,
		StartedAt:  time.Now(),
	}
	r.out = newStream(l.opts.Head, l.opts.Tail, &l.memory, l.makeRoom)
	cookie := newCookie()
	if err := l.fork(r, shell, argv, dir, l.environ(r, req, dir, cookie), cookie); err != nil {
		return err
	}
	process.PID = r.session.pid
	r.mu.Lock()
	r.process = process
	r.mu.Unlock()
	return nil
}

// quoteIDs names a few processes.
func quoteIDs(ids []string) string {
	const most = 5
	more := ""
	if len(ids) > most {
		ids, more = ids[:most], ", …"
	}
	return strings.Join(ids, ", ") + more
}
