package proclocal

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// Close ends every process. It terminates all of them, waits Options.StopGrace, kills
// the remaining ones, and waits for their end: StopGrace and 5 s at most, or 10 s on an
// overloaded machine. Its error names the survivors. A second Close returns the error
// of the first.
//
// A deferred Close is not enough, except on Windows. Each command has a session
// of its own, so Ctrl-C in a terminal does not reach it. At SIGINT, SIGTERM and
// SIGHUP a Go program by default ends without its deferred calls. With
// [os/signal.NotifyContext] the signal ends a context instead, and the program
// returns and calls Close. os.Exit and log.Fatal skip deferred calls too.
//
// A Start that is under way and has not forked yet runs nothing: it is
// [procmgr.ErrClosed], also if it hangs in a hook or in a dead mount, after StopGrace at
// the latest. If it hangs in the fork itself, the error comes with the ID and Close names
// it, because the command may still begin; it is killed then.
//
// After Close, Start is [procmgr.ErrClosed]. The output that is kept in memory can
// still be read. The logs are gone.
func (l *Local) Close() error {
	l.closing.Do(func() { l.closeErr = l.shutdown() })
	return l.closeErr
}

func (l *Local) shutdown() error {
	l.mu.Lock()
	l.closed = true
	l.expiry.Stop()
	// Starts that have not forked by now run nothing. The others are only a fork
	// away from their end.
	var all, late []*record
	for _, r := range l.table.all {
		if r.phase == preparing {
			late = append(late, r)
		} else {
			all = append(all, r)
		}
	}
	l.mu.Unlock()

	ctx := context.Background()
	over := time.Now().Add(l.opts.StopGrace)
	deadline := time.Now().Add(max(l.opts.StopGrace, killTime))
	var left []survivor
	all = slices.DeleteFunc(all, func(r *record) bool {
		failed := l.awaitStart(r, deadline) != nil
		if r.phase == abandoned {
			left = append(left, survivor{id: r.id, why: "its start still hangs"})
		}
		return failed
	})
	hanging := len(left) > 0
	running := slices.DeleteFunc(slices.Clone(all), func(r *record) bool { return !r.ask(procmgr.CauseShutdown) })
	left = append(left, l.end(ctx, running)...)
	left = append(left, l.unsure(slices.DeleteFunc(slices.Clone(all), func(r *record) bool { return !r.exited() }))...)
	for _, r := range late {
		_ = l.awaitStart(r, over) // nothing of it runs
	}
	for _, r := range all {
		if !r.exited() { // it survived: stop waiting for it
			r.tree.Abandon()
		}
	}
	l.wg.Wait()
	l.mu.Lock()
	l.events.close()
	l.mu.Unlock()
	if hanging {
		go l.release() // ends with the last start that hangs, for which Close must not wait
	} else {
		l.release()
	}
	if l.logs != nil {
		l.logs.Close()
	}
	if len(left) == 0 {
		return nil
	}
	names := make([]string, len(left))
	for i, s := range left {
		names[i] = s.String()
	}
	return xerrors.Errorf("procmgr: close: not all processes are gone: %s", strings.Join(names, "; "))
}

// release closes what the Local has of the system, once no abandoned start needs it.
func (l *Local) release() {
	l.abandoned.Wait()
	l.system.Close()
}

// awaitStart waits for a start that is under way. If it hangs until the time is
// over, it is answered with ErrClosed. The error says why nothing was started.
func (l *Local) awaitStart(r *record, until time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	if failed, err := r.started(ctx); failed || err == nil {
		return err
	}
	l.mu.Lock()
	forks := r.phase == forking
	given := l.answer(r, procmgr.ErrClosed)
	if given && forks {
		r.phase = abandoned
		l.abandoned.Add(1)
	}
	l.mu.Unlock()
	if given {
		r.log(slog.LevelWarn, "a start that hangs was given up")
		l.giveUp(r)
	}
	<-r.ready
	return r.failed
}

// end terminates processes, waits, and kills the rest. It returns the
// survivors.
func (l *Local) end(ctx context.Context, running []*record) (survived []survivor) {
	if l.opts.StopGrace > 0 && len(running) > 0 {
		_, _ = l.system.Signal(treesOf(running), osproc.SIGTERM) // a process that cannot be signalled is killed below, or named
		running, _ = awaitExits(ctx, running, l.opts.StopGrace)  // the context never ends
	}
	if len(running) > 0 {
		survived, _ = l.kill(ctx, running)
	}
	return survived
}
