package procmgr

import (
	"context"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"
)

// Close ends every process: it terminates all of them, waits Options.StopGrace,
// kills what is left, and waits for the end, StopGrace and 5 s at the most. Its
// error names what survived. A second Close returns what the first did.
//
// From then on Start is [ErrClosed]; what the processes have printed can still
// be read.
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
	var all []*record
	for _, c := range l.chats {
		all = c.appendTo(all)
	}
	l.mu.Unlock()
	l.sweepNow(all...)

	ctx := context.Background()
	running := all[:0]
	for _, r := range all {
		// A start that is on its way is only a fork away from its end.
		if r.started(ctx) == nil && r.ask(CauseShutdown) {
			running = append(running, r)
		}
	}
	left := l.end(ctx, running)
	for _, r := range running {
		if !r.exited() { // it survived: stop waiting for it
			r.pipe.close()
			r.session.abandon()
		}
	}
	l.wg.Wait()
	l.null.Close()
	if l.cgroups != nil {
		l.cgroups.close()
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

// end terminates, waits, and kills.
func (l *Local) end(ctx context.Context, running []*record) []survivor {
	if len(running) == 0 {
		return nil
	}
	if l.opts.StopGrace > 0 {
		l.deliver(running, syscall.SIGTERM)
		grace := time.NewTimer(l.opts.StopGrace)
		defer grace.Stop()
		over := make(chan time.Time)
		for _, r := range running {
			if waitExited(ctx, r, grace.C, over) == waitedLong {
				break
			}
		}
	}
	var left []*record
	for _, r := range running {
		if !r.exited() {
			left = append(left, r)
		}
	}
	if len(left) == 0 {
		return nil
	}
	survived, _ := l.kill(ctx, left)
	return survived
}
