package procmgr

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// Close ends every process. It terminates all of them, waits Options.StopGrace,
// kills those that are left, and waits for their end: StopGrace and 5 s at
// most. Its error names the survivors. A second Close returns the error of the
// first.
//
// A deferred Close is not enough, except on Windows. Each command has a session
// of its own, so Ctrl-C in a terminal does not reach it. At SIGINT, SIGTERM and
// SIGHUP a Go program by default ends without its deferred calls. With
// [os/signal.NotifyContext] the signal ends a context instead, and the program
// returns and calls Close. os.Exit and log.Fatal skip deferred calls too.
//
// After Close, Start is [ErrClosed]. The output that is kept in memory can
// still be read. The logs are gone, unless Options.KeepLogs is set.
func (l *Local) Close() error {
	l.closing.Do(func() { l.closeErr = l.shutdown() })
	return l.closeErr
}

func (l *Local) shutdown() error {
	l.mu.Lock()
	l.closed = true
	if l.expiry != nil {
		l.expiry.Stop()
	}
	l.sweeps.stop()
	all := l.chats.all()
	for _, r := range l.sweeps.pending {
		if r.inExits == nil { // in no chat any more
			all = append(all, r)
		}
	}
	l.mu.Unlock()

	ctx := context.Background()
	// A start that is under way is only a fork away from its end.
	all = slices.DeleteFunc(all, func(r *record) bool {
		failed, _ := r.started(ctx)
		return failed
	})
	// When the leader of a process exits that was asked to end, its Follow
	// searches for members that have left. For a process that had exited
	// before, this search does it.
	for _, r := range all {
		r.ask(CauseShutdown)
	}
	l.sweepNow(all...)
	running := slices.DeleteFunc(all, func(r *record) bool { return !r.ask(CauseShutdown) })
	left := l.end(ctx, running)
	for _, r := range running {
		if !r.exited() { // it survived: stop waiting for it
			r.tree.Abandon()
		}
	}
	l.mu.Lock()
	l.settled = true
	l.mu.Unlock()
	l.wg.Wait()
	l.mu.Lock()
	l.events.close()
	l.mu.Unlock()
	l.system.Close()
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
