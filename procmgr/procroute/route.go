// Package procroute makes one [procmgr.Host] of many: [New] returns a Host whose
// chats run on the machines that a [Router] names. Take it if chats belong to
// several machines that this program can reach; if machines dial out to NATS, take
// procnats.
package procroute

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// A Router knows many machines, and on which of them each chat runs its
// commands. Its methods are safe for concurrent use.
type Router interface {
	// Host returns the machine of a chat. It is the same one for as long as the
	// chat has processes. Nothing was started if it returns an error. A chat whose Host is
	// another value than before counts as moved: a Start that is older than the move, by
	// its Age, is [procmgr.ErrUnknown] unless the machine knows the ID.
	Host(ctx context.Context, chatID string) (procmgr.Host, error)
	// Hosts returns all machines by their names.
	Hosts(ctx context.Context) (map[string]procmgr.Host, error)
}

// Options configures [New]. The zero value of every field is its default.
type Options struct {
	// Timeout is how long each machine has to answer when all of them are
	// asked: 5 s by default.
	Timeout time.Duration
}

// partial returns the error of the machines that are missing, or nil.
func partial(missing map[string]error) error {
	if len(missing) == 0 {
		return nil
	}
	return &procmgr.PartialError{Missing: missing}
}

// defaultRouteTime is the default of Options.Timeout.
const defaultRouteTime = 5 * time.Second

// A route is a Host of many machines. Its calls go to the machine that has the process.
type route struct {
	calls
	router  Router
	timeout time.Duration
	homes   homes
}

var _ procmgr.Host = (*route)(nil)

// New returns a Host whose chats run on the machines of a Router. If opts is
// nil, all options have their defaults.
//
// The calls of a chat go to the chat's machine. List and Events of the Host ask
// all machines side by side. A machine that does not answer in time, or fails, is
// in the Missing of the *[procmgr.PartialError] that comes with what the others have; a
// machine that ignores its context keeps a goroutine until it returns.
//
// Other calls of the Host ask all machines for the ID of the process. If two
// machines have the ID, the error is [procmgr.ErrConflict]. If none has it, and one that
// has not answered may have it, the error is a *PartialError and never
// [procmgr.ErrNotFound]. Start of the Host is [procmgr.ErrInvalid]: only a chat has a machine.
func New(r Router, opts *Options) procmgr.Host {
	timeout := defaultRouteTime
	if opts != nil && opts.Timeout > 0 {
		timeout = opts.Timeout
	}
	made := &route{router: r, timeout: timeout, homes: homes{chats: make(map[string]home), whole: time.Now()}}
	made.find = made.machine
	return made
}

// An askFunc asks one machine.
type askFunc[T any] func(ctx context.Context, name string, h procmgr.Host) (T, error)

// askAll asks all machines concurrently. It returns their answers by the names of the
// machines, and the reasons why machines have not answered. Once enough reports true
// for an answer, askAll returns, and slower machines are in neither map; a nil enough
// never does. The goroutines end with the calls.
func askAll[T any](ctx context.Context, hosts map[string]procmgr.Host, timeout time.Duration, ask askFunc[T], enough func(T) bool) (answers map[string]T, missing map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type answer struct {
		name  string
		value T
		err   error
	}
	got := make(chan answer, len(hosts))
	for name, h := range hosts {
		go func() {
			value, err := ask(ctx, name, h)
			got <- answer{name, value, err}
		}()
	}
	answers, missing = make(map[string]T, len(hosts)), make(map[string]error)
	for range hosts {
		select {
		case a := <-got:
			var behind *procmgr.PartialError // a machine may itself be a Host of many
			switch {
			case errors.As(a.err, &behind):
				for name, err := range behind.Missing {
					missing[a.name+"/"+name] = err
				}
			case a.err != nil:
				missing[a.name] = a.err
				continue
			}
			answers[a.name] = a.value
			if enough != nil && enough(a.value) {
				return answers, missing
			}
		case <-ctx.Done():
			for name := range hosts {
				_, ok := answers[name]
				if _, failed := missing[name]; !ok && !failed {
					missing[name] = ctx.Err()
				}
			}
			return answers, missing
		}
	}
	return answers, missing
}

// hosts returns all machines.
func (r *route) hosts(ctx context.Context) (map[string]procmgr.Host, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	all, err := r.router.Hosts(ctx)
	if err != nil {
		return nil, xerrors.Errorf("the machines cannot be told: %w", err)
	}
	return all, nil
}

// machine returns the machine that has an ID.
func (r *route) machine(ctx context.Context, id string) (procmgr.Manager, error) {
	hosts, err := r.hosts(ctx)
	if err != nil {
		return nil, err
	}
	// The answers are nil, or the ErrNotFound of a machine.
	answers, missing := askAll(ctx, hosts, r.timeout, func(ctx context.Context, _ string, h procmgr.Host) (lacks, err error) {
		_, err = h.Output(ctx, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 1}})
		switch {
		case errors.Is(err, procmgr.ErrNotFound):
			return err, nil
		case errors.Is(err, procmgr.ErrConflict):
			return nil, nil // the machine itself tells of the conflict
		}
		return nil, err
	}, nil)
	var found []string
	unknown := procmgr.ErrNotFound
	for name, lacks := range answers {
		switch {
		case lacks == nil:
			found = append(found, name)
		case errors.Is(lacks, procmgr.ErrUnknown): // it was there
			unknown = lacks
		}
	}
	switch {
	case len(found) > 1:
		slices.Sort(found)
		return nil, xerrors.Errorf("%d machines have a process with this ID (%s), ask in the chat: %w", len(found), strings.Join(found, ", "), procmgr.ErrConflict)
	case len(found) == 1:
		return hosts[found[0]], nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(missing) > 0:
		return nil, partial(missing)
	}
	return nil, unknown
}

// Start implements [procmgr.Manager]. Only a chat has a machine.
func (r *route) Start(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	return procmgr.Output{}, callerr.Wrap("start", req.ID, xerrors.Errorf("only a chat has a machine, so start it in a chat: %w", procmgr.ErrInvalid))
}

// List implements [procmgr.Manager]. It has the processes of every machine that
// answers.
func (r *route) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	page, err := r.list(ctx, req)
	return page, callerr.Wrap("list", "", err)
}

func (r *route) list(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if _, err := procmgr.PageOf(nil, req); err != nil { // it says why a request is invalid
		return procmgr.ListPage{}, err
	}
	hosts, err := r.hosts(ctx)
	if err != nil {
		return procmgr.ListPage{}, err
	}
	each := procmgr.ListRequest{State: req.State}
	if req.Limit > 0 && req.Limit <= math.MaxInt-req.Offset {
		each.Limit = req.Offset + req.Limit // all of the page may be on one machine
	}
	lists, missing := askAll(ctx, hosts, r.timeout, func(ctx context.Context, _ string, h procmgr.Host) (procmgr.ListPage, error) {
		return h.List(ctx, each)
	}, nil)
	var all []procmgr.Process
	var total, live int
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		all = append(all, lists[name].Processes...)
		total, live = total+lists[name].Total, live+lists[name].Live
	}
	if err := ctx.Err(); err != nil {
		return procmgr.ListPage{}, err
	}
	slices.SortStableFunc(all, func(a, b procmgr.Process) int { return a.StartedAt.Compare(b.StartedAt) })
	page, _ := procmgr.PageOf(all, req) // it is valid, see above
	page.Total, page.Live = total, live
	return page, partial(missing)
}

// Describe implements [procmgr.Manager]. The machines may differ, so nothing is
// said of them: a chat has one machine, and its Manager describes that one.
func (r *route) Describe(ctx context.Context) (procmgr.Description, error) {
	return procmgr.Description{}, callerr.Wrap("describe", "", ctx.Err())
}

// Chat implements [procmgr.Host].
func (r *route) Chat(id string) procmgr.Manager {
	c := &routedChat{route: r, id: id, err: check.Chat(id)}
	c.find = func(ctx context.Context, _ string) (procmgr.Manager, error) {
		m, _, err := c.manager(ctx)
		return m, err
	}
	return c
}

// maxHomes is how many chats a route remembers at most.
const maxHomes = 1 << 16

// A home is the machine of a chat, and since when the chat has been there.
type home struct {
	procmgr.Host
	since time.Time
}

// homes remembers the machines of chats. If there are too many, it forgets all of them: then
// a replay of an ID from before is ErrUnknown, unless the machine knows the ID.
type homes struct {
	mu    sync.Mutex // guards the fields below
	chats map[string]home
	whole time.Time // no other chat was routed since then
}

// since returns since when a chat, which is routed to a machine now, has been there.
func (s *homes) since(chat string, h procmgr.Host) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.chats[chat]
	switch {
	case !known:
		was = home{h, s.whole}
	case reflect.ValueOf(h).Comparable() && was.Host != h:
		was = home{h, time.Now()}
	default:
		was.Host = h
	}
	if !known && len(s.chats) >= maxHomes {
		clear(s.chats)
		s.whole = time.Now()
	}
	s.chats[chat] = was
	return was.since
}

// A routedChat is the Manager of a chat whose machine a Router knows.
type routedChat struct {
	calls
	route *route
	id    string
	err   error // why the ID cannot be used: isolation fails closed
}

// manager returns the chat's Manager on its machine, and since when the chat has been there.
func (c *routedChat) manager(ctx context.Context) (m procmgr.Manager, since time.Time, err error) {
	if err := cmp.Or(c.err, ctx.Err()); err != nil {
		return nil, since, err
	}
	h, err := c.route.router.Host(ctx, c.id)
	switch {
	case err != nil:
		return nil, since, xerrors.Errorf("the machine of the chat cannot be told: %w", err)
	case h == nil:
		return nil, since, xerrors.New("the chat has no machine")
	}
	return h.Chat(c.id), c.route.homes.since(c.id, h), nil
}

// Start implements [procmgr.Manager]. A request that is older than the chat on this machine
// goes there with an Age that no machine has, because the machine may know the ID.
func (c *routedChat) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	m, since, err := c.manager(ctx)
	if err != nil {
		return procmgr.Output{}, callerr.Wrap("start", req.ID, err)
	}
	if check.Age(req.Age, since) != nil {
		req.Age = math.MaxInt64
	}
	return m.Start(ctx, req)
}

// calls are the calls that go to one machine: find returns its Manager, by the ID of the
// process if the call has one.
type calls struct {
	find func(ctx context.Context, id string) (procmgr.Manager, error)
}

// call makes a call to the Manager that find returns. It names the call if there is none.
func call[T any](ctx context.Context, c calls, verb, id string, do func(m procmgr.Manager) (T, error)) (T, error) {
	m, err := c.find(ctx, id)
	if err != nil {
		var none T
		return none, callerr.Wrap(verb, id, err)
	}
	return do(m)
}

func (c calls) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return call(ctx, c, "output", id, func(m procmgr.Manager) (procmgr.Output, error) { return m.Output(ctx, id, req) })
}

func (c calls) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return call(ctx, c, "input", id, func(m procmgr.Manager) (procmgr.InputOutput, error) { return m.Input(ctx, id, req) })
}

// Signal implements [procmgr.Manager]. From the Host, the stop of an unused ID reaches no
// machine and spends nothing, since the Host starts nothing.
func (c calls) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	_, err := call(ctx, c, "signal", id, func(m procmgr.Manager) (struct{}, error) { return struct{}{}, m.Signal(ctx, id, sig) })
	return err
}

func (c calls) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return call(ctx, c, "list", "", func(m procmgr.Manager) (procmgr.ListPage, error) { return m.List(ctx, req) })
}

func (c calls) Describe(ctx context.Context) (procmgr.Description, error) {
	return call(ctx, c, "describe", "", func(m procmgr.Manager) (procmgr.Description, error) { return m.Describe(ctx) })
}

func (c calls) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return call(ctx, c, "events", "", func(m procmgr.Manager) (procmgr.EventPage, error) { return m.Events(ctx, req) })
}
