package toolset

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// errStopped is the cause with which Set.Stop ends the contexts of calls.
var errStopped = errors.New("stopped by the user")

// An inFlight is a call that starts a process, or waits for one.
type inFlight struct {
	m  procmgr.Manager
	id string // of the process
	// starts says that it is a call of execute, which ends its process if its context
	// is canceled, unless the process is in the background.
	starts, background bool

	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the call has done its work
}

// enter notes that a call is in flight until leave is called. The returned context ends
// at Stop.
func (k *kit) enter(ctx context.Context, c inFlight) (_ context.Context, leave func()) {
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.done = make(chan struct{})
	k.inFlight.Store(&c, nil)
	return ctx, func() {
		k.inFlight.Delete(&c)
		c.cancel(nil)
		close(c.done)
	}
}

// Stop ends what runs in the foreground of a chat, as Ctrl-C does in a shell: the chat
// whose Manager the Resolver returns for ctx. It sends Terminate to the chat's calls that
// are starting a process, and to each of its processes that is running and is not a
// background process. What still runs after 2 s gets Kill. Background processes and what
// a command has left behind, detached, live on, and so do other chats. If the Resolver
// returns a [procmgr.Host], Stop ends only processes without a chat. Calls of this Set
// that wait, also for background processes, return that they were stopped by the user.
//
// Stop returns the processes that it has ended, or tried to, as they are now. ctx bounds
// it, so it must not be the context of the turn if that has ended. Stop does not end a
// loop: cancel the context of the turn after it, or the model goes on.
func (s *Set) Stop(ctx context.Context) ([]procmgr.Process, error) {
	m, err := s.resolve(ctx)
	if err != nil {
		return nil, xerrors.Errorf("toolset: stop: %w", err)
	}
	var page procmgr.ListPage
	listErr := survive(func() (err error) {
		page, err = m.List(ctx, procmgr.ListRequest{})
		return err
	})
	var chat string // "" for a host, also one that a guard hides
	_, host := m.(procmgr.Host)
	if !host {
		who, _ := conversationIn(m, page.Processes)
		chat = who.chat
	}
	host = host || chat == "" && len(page.Processes) > 0
	own := make(map[string]bool) // the IDs of the chat
	// What is to be ended has a call that does it by itself, or nil.
	targets := make(map[string]*inFlight)
	for _, p := range page.Processes {
		if p.ChatID == chat {
			own[p.ID] = true
			if p.State == procmgr.Running && !p.Background {
				targets[p.ID] = nil
			}
		}
	}
	var calls []*inFlight
	looking, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	for key := range s.inFlight.Range {
		c := key.(*inFlight)
		switch {
		case s.isOf(looking, c, m, host, chat, own):
			c.cancel(errStopped)
			calls = append(calls, c)
			if c.starts && !c.background {
				targets[c.id] = c
			}
		case c.starts && !host && s.opts.ProcessID == nil && !own[c.id]:
			targets[c.id] = nil // its random ID is used in no other chat: if it is of this one, it will not start
		}
	}
	var (
		all   sync.WaitGroup // the goroutines of this call; Wait below waits for all
		mu    sync.Mutex     // guards ended and errs
		ended []procmgr.Process
		errs  = []error{listErr}
	)
	for id, c := range targets {
		s.ledger.stoppedByUser(conversationOf(m, chat), id)
		all.Go(func() {
			if c != nil {
				c.wait(ctx)
			}
			var p procmgr.Process
			err := survive(func() (err error) {
				p, err = s.end(ctx, m, id)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			if p.ID != "" {
				ended = append(ended, p)
			}
		})
	}
	all.Wait()
	for _, c := range calls {
		c.wait(ctx)
	}
	if err := errors.Join(errs...); err != nil {
		return ended, xerrors.Errorf("toolset: stop: %w", err)
	}
	return ended, nil
}

// end ends a process, and returns how it is then. If it had not started, its ID is spent,
// and there is none.
func (s *Set) end(ctx context.Context, m procmgr.Manager, id string) (procmgr.Process, error) {
	var out procmgr.Output
	var sent, err error
	for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Kill} {
		sent = m.Signal(ctx, id, sig)
		grace := stopGrace
		switch {
		case errors.Is(sent, procmgr.ErrNotFound):
			return procmgr.Process{}, nil
		case sent != nil || sig == procmgr.Kill:
			grace = 0
		}
		if out, err = s.settle(ctx, m, id, atEnd, grace); out.Process.State == procmgr.Exited {
			return out.Process, nil
		}
	}
	out.Process.ID = id
	return out.Process, cmp.Or(sent, err)
}

// isOf reports whether a call is of a chat: by the Manager m of the chat, or for one of
// the chat's own IDs. Another chat may have the same ID if the host chooses IDs. Then isOf
// waits for a start that is under way, because only its process tells the chat. host says
// that m is a host's own view, and chat is "" also if m has shown no process so far.
func (s *Set) isOf(ctx context.Context, c *inFlight, m procmgr.Manager, host bool, chat string, own map[string]bool) bool {
	if sameManager(c.m, m) {
		return true
	}
	if s.opts.ProcessID == nil || !c.starts && !own[c.id] {
		return own[c.id] && chat != ""
	}
	for {
		var out procmgr.Output
		err := survive(func() (err error) {
			out, err = c.m.Output(ctx, c.id, procmgr.OutputRequest{From: atEnd})
			return err
		})
		switch {
		case err == nil && (host || chat != ""):
			return out.Process.ChatID == chat
		case err == nil:
			page, _ := m.List(ctx, procmgr.ListRequest{})
			return slices.ContainsFunc(page.Processes, func(p procmgr.Process) bool {
				return p.ID == c.id && p.ChatID == out.Process.ChatID
			})
		case !errors.Is(err, procmgr.ErrNotFound):
			return false
		}
		select {
		case <-time.After(stopGrace / 100):
		case <-c.done:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// wait waits until the call has done its work, for stopGrace at most.
func (c *inFlight) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	select {
	case <-c.done:
	case <-ctx.Done():
	}
}
