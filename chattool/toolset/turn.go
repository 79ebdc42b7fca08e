package toolset

import (
	"cmp"
	"context"
	"errors"
	"reflect"
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
	// chosen says that the host has chosen the ID, so that another chat may have it too.
	chosen bool

	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the call has done its work
}

// calls are the calls in flight.
type calls struct {
	mu  sync.Mutex // guards all
	all map[*inFlight]struct{}
}

// enter notes that a call is in flight until leave is called. The returned context ends
// at Stop.
func (k *kit) enter(ctx context.Context, c inFlight) (_ context.Context, leave func()) {
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.done = make(chan struct{})
	k.inFlight.mu.Lock()
	defer k.inFlight.mu.Unlock()
	if k.inFlight.all == nil {
		k.inFlight.all = make(map[*inFlight]struct{})
	}
	k.inFlight.all[&c] = struct{}{}
	return ctx, func() {
		k.inFlight.mu.Lock()
		defer k.inFlight.mu.Unlock()
		delete(k.inFlight.all, &c)
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
		page, err = m.List(ctx, procmgr.ListRequest{State: procmgr.Running})
		return err
	})
	chat := chatOf(m, page.Processes)
	var (
		ids   []string
		owner = make(map[string]*inFlight)
		rest  []*inFlight // calls whose process is not to be ended
	)
	for _, p := range page.Processes {
		if p.ChatID == chat && !p.Background {
			ids = append(ids, p.ID)
			owner[p.ID] = nil
		}
	}
	calls, maybe := s.inFlight.of(ctx, m, chat)
	for _, c := range maybe {
		ids = append(ids, c.id) // if it is of this chat, it will not start
	}
	for _, c := range calls {
		c.cancel(errStopped)
		if !c.starts || c.background {
			rest = append(rest, c)
			continue
		}
		if _, listed := owner[c.id]; !listed {
			ids = append(ids, c.id)
		}
		owner[c.id] = c
	}
	found, errs := make([]procmgr.Process, len(ids)), make([]error, len(ids)+1)
	errs[len(ids)] = listErr
	var all sync.WaitGroup // the goroutines of this call; Wait below waits for all
	for i, id := range ids {
		all.Go(func() {
			if c := owner[id]; c != nil {
				c.wait(ctx, stopGrace) // it ends its process itself
			}
			errs[i] = survive(func() (err error) {
				found[i], err = s.end(ctx, m, id)
				return err
			})
		})
	}
	all.Wait()
	for _, c := range rest {
		c.wait(ctx, stopGrace)
	}
	var ended []procmgr.Process
	for _, p := range found {
		if p.ID != "" {
			ended = append(ended, p)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return ended, xerrors.Errorf("toolset: stop: %w", err)
	}
	return ended, nil
}

// chatOf returns the chat of a Manager that shows processes. It is "" for a host, also one
// that a guard hides.
func chatOf(m procmgr.Manager, shown []procmgr.Process) (chat string) {
	if _, host := m.(procmgr.Host); host || len(shown) == 0 {
		return ""
	}
	for _, p := range shown {
		if p.ChatID != shown[0].ChatID {
			return ""
		}
	}
	return shown[0].ChatID
}

// end ends a process, and returns how it is then. If it had not started, its ID is spent,
// and there is none.
func (s *Set) end(ctx context.Context, m procmgr.Manager, id string) (procmgr.Process, error) {
	grace := stopGrace
	err := m.Signal(ctx, id, procmgr.Terminate)
	switch {
	case errors.Is(err, procmgr.ErrNotFound):
		return procmgr.Process{}, nil
	case err != nil:
		grace = 0
	}
	out, err := s.settle(ctx, m, id, atEnd, grace)
	if err == nil && out.Process.State == procmgr.Exited {
		return out.Process, nil
	}
	killed := m.Signal(ctx, id, procmgr.Kill)
	if out, err = s.settle(ctx, m, id, atEnd, 0); out.Process.State == procmgr.Exited {
		return out.Process, nil
	}
	out.Process.ID = id
	return out.Process, cmp.Or(killed, err)
}

// of returns the calls of a chat: the calls by its Manager m, or by another one that
// shows a process of that chat. Of a call that is starting it may be unknown. If its ID
// is random, it is in maybe: to spend the ID in another chat does no harm.
func (cs *calls) of(ctx context.Context, m procmgr.Manager, chat string) (found, maybe []*inFlight) {
	var (
		asked sync.WaitGroup // the goroutines of this call; Wait below waits for all
		mu    sync.Mutex     // guards found and maybe
	)
	cs.mu.Lock()
	for c := range cs.all {
		asked.Go(func() {
			same := reflect.ValueOf(c.m).Comparable() && reflect.ValueOf(m).Comparable() && c.m == m
			unknown := false
			if !same {
				ctx, cancel := context.WithTimeout(ctx, stopGrace)
				defer cancel()
				_ = survive(func() error {
					out, err := c.m.Output(ctx, c.id, procmgr.OutputRequest{From: atEnd})
					same = err == nil && chat != "" && out.Process.ChatID == chat
					unknown = c.starts && !c.chosen && errors.Is(err, procmgr.ErrNotFound)
					return nil
				})
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case same:
				found = append(found, c)
			case unknown:
				maybe = append(maybe, c)
			}
		})
	}
	cs.mu.Unlock()
	asked.Wait()
	return found, maybe
}

// wait waits until the call has done its work, for a time at most.
func (c *inFlight) wait(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	select {
	case <-c.done:
	case <-ctx.Done():
	}
}
