package main

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// keptEvents is how many events a simulated machine keeps, and keptProcesses
	// how many ended processes of a chat it lists.
	keptEvents    = 4096
	keptProcesses = 8
	// printed is what a simulated process prints.
	printed = "building 1 of 3\nbuilding 2 of 3\nbuilding 3 of 3\nwarning: nothing was built, this is a simulation\nok\n"
	// median and longest are how long a simulated process runs.
	median  = 200 * time.Millisecond
	longest = 5 * time.Second
)

// A begun counts how often a command has begun under an ID, on whatever machine.
// It is what the promise is measured by, so nothing takes an entry away.
type begun struct {
	mu    sync.Mutex // guards the fields below
	runs  map[processKey]int
	ended map[processKey]struct{}
}

func newBegun() *begun {
	return &begun{runs: make(map[processKey]int), ended: make(map[processKey]struct{})}
}

func (b *begun) begin(k processKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs[k]++
}

func (b *begun) end(k processKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended[k] = struct{}{}
}

// A simulated is a Host whose processes are timers and belong to chats. It keeps the rules of
// procmgr.Manager as far as the agents of the simulation use them: an ID runs
// once, a stop that comes first spends the ID, waits, and events.
type simulated struct {
	procmgr.Unsupported
	begun *begun

	mu      sync.Mutex // guards the fields below, and the processes
	known   map[processKey]*simProcess
	chats   map[string][]*simProcess // as they were started
	running int
	events  []procmgr.Event
	first   int           // the number of events[0]
	bell    chan struct{} // closed at the next event; nil if nobody waits
}

var _ procmgr.Host = (*simulated)(nil)

// A simProcess is a timer.
type simProcess struct {
	snapshot procmgr.Process
	sum      uint64        // of the request that has started it
	done     chan struct{} // closed at its end
	timer    *time.Timer
}

func newSimulated(b *begun) *simulated {
	return &simulated{begun: b, known: make(map[processKey]*simProcess), chats: make(map[string][]*simProcess)}
}

// Chat implements procmgr.Host.
func (s *simulated) Chat(id string) procmgr.Manager { return &simChat{s: s, id: id} }

// List implements procmgr.Host. A page of one is for its counts alone: it is empty.
func (s *simulated) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Limit == 1 {
		return procmgr.ListPage{Total: len(s.known), Live: s.running}, nil
	}
	var all []procmgr.Process
	for _, chat := range s.chats {
		for _, p := range chat {
			all = append(all, p.snapshot)
		}
	}
	return procmgr.PageOf(all, req)
}

// Events implements procmgr.Host, for the host alone.
func (s *simulated) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	late := time.NewTimer(req.Wait)
	defer late.Stop()
	for {
		page, bell := s.page(req)
		if bell == nil {
			return page, nil
		}
		select {
		case <-bell:
		case <-late.C:
			return page, nil
		case <-ctx.Done():
			return procmgr.EventPage{}, ctx.Err()
		}
	}
}

// page returns the events after a place, or what rings at the next one.
func (s *simulated) page(req procmgr.EventsRequest) (procmgr.EventPage, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.first + len(s.events)
	if req.Latest {
		return procmgr.EventPage{Next: cursor(next)}, nil
	}
	from, err := strconv.Atoi(strings.TrimPrefix(cmp.Or(req.After, cursor(0)), "c"))
	gap := err != nil || from < s.first || from > next
	from = min(max(from, s.first), next)
	limit := cmp.Or(req.Limit, 100)
	if limit < 0 {
		limit = math.MaxInt
	}
	events := slices.Clone(s.events[from-s.first:])
	events = events[:min(len(events), limit)]
	page := procmgr.EventPage{Events: events, Next: cursor(from + len(events)), Gap: gap && req.After != ""}
	if len(events) > 0 || page.Gap || req.Wait <= 0 {
		return page, nil
	}
	if s.bell == nil {
		s.bell = make(chan struct{})
	}
	return page, s.bell
}

func cursor(n int) string { return "c" + strconv.Itoa(n) }

// happened notes an event. The caller holds mu.
func (s *simulated) happened(kind procmgr.EventKind, at time.Time, p procmgr.Process) {
	s.events = append(s.events, procmgr.Event{At: at, Kind: kind, Process: p})
	if len(s.events) > 2*keptEvents {
		s.events = slices.Clone(s.events[keptEvents:])
		s.first += keptEvents
	}
	if s.bell != nil {
		close(s.bell)
		s.bell = nil
	}
}

// A simChat is the Manager of a chat.
type simChat struct {
	procmgr.Unsupported
	s  *simulated
	id string
}

// sumOf tells requests apart.
func sumOf(req procmgr.StartRequest) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(req.Command + "\x00" + req.WorkDir))
	return h.Sum64()
}

// runTime returns how long a process runs: most are short, few are long.
func runTime() time.Duration {
	return min(time.Duration(float64(median)*math.Exp(rand.NormFloat64())), longest)
}

func (c *simChat) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if req.ID == "" {
		req.ID = procmgr.NewID()
	}
	p, attached, err := c.begin(processKey{c.id, req.ID}, req)
	if err != nil {
		return procmgr.Output{}, err
	}
	c.wait(ctx, p, req.Wait)
	out := c.output(p)
	out.Attached = attached
	return out, nil
}

// begin starts a process, or returns the one that has its ID.
func (c *simChat) begin(key processKey, req procmgr.StartRequest) (p *simProcess, attached bool, err error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	p, known := c.s.known[key]
	switch {
	case known && (p == nil || p.sum != sumOf(req)):
		return nil, false, procmgr.ErrConflict
	case known:
		return p, true, nil
	}
	c.s.begun.begin(key)
	now := time.Now()
	p = &simProcess{
		sum:  sumOf(req),
		done: make(chan struct{}),
		snapshot: procmgr.Process{
			ID: req.ID, ChatID: c.id, Command: req.Command, WorkDir: "/work", PID: 1000 + len(c.s.known),
			State: procmgr.Running, StartedAt: now, Background: req.Background,
		},
	}
	c.s.known[key] = p
	c.s.chats[c.id] = append(c.s.chats[c.id], p)
	c.s.running++
	c.s.happened(procmgr.EventStarted, now, p.snapshot)
	p.timer = time.AfterFunc(runTime(), func() {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		c.finish(p, 0, procmgr.CauseExit)
	})
	return p, false, nil
}

// finish ends a process that has not ended. The caller holds mu.
func (c *simChat) finish(p *simProcess, code int, cause procmgr.Cause) {
	if p.snapshot.State == procmgr.Exited {
		return
	}
	p.timer.Stop()
	p.snapshot.State, p.snapshot.ExitCode, p.snapshot.EndedBy, p.snapshot.ExitedAt = procmgr.Exited, &code, cause, time.Now()
	c.s.running--
	c.s.begun.end(processKey{c.id, p.snapshot.ID})
	close(p.done)
	if all := c.s.chats[c.id]; len(all) > keptProcesses && all[0].snapshot.State == procmgr.Exited {
		c.s.chats[c.id] = all[1:] // its ID is still known
	}
	c.s.happened(procmgr.EventExited, p.snapshot.ExitedAt, p.snapshot)
}

// wait waits for the end of a process.
func (c *simChat) wait(ctx context.Context, p *simProcess, wait time.Duration) {
	if wait <= 0 {
		return
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// output is what a process has printed.
func (c *simChat) output(p *simProcess) procmgr.Output {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	out := procmgr.Output{Process: p.snapshot}
	if p.snapshot.State == procmgr.Exited {
		out.Text, out.Next = printed, int64(len(printed))
	}
	return out
}

// find returns a process of the chat.
func (c *simChat) find(id string) (*simProcess, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if p := c.s.known[processKey{c.id, id}]; p != nil {
		return p, nil
	}
	return nil, procmgr.ErrNotFound
}

func (c *simChat) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	p, err := c.find(id)
	if err != nil {
		return procmgr.Output{}, err
	}
	c.wait(ctx, p, req.Wait)
	return c.output(p), nil
}

func (c *simChat) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	var all []procmgr.Process
	for _, p := range c.s.chats[c.id] {
		all = append(all, p.snapshot)
	}
	return procmgr.PageOf(all, req)
}

func (c *simChat) Signal(_ context.Context, id string, sig procmgr.Signal) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	key := processKey{c.id, id}
	p, known := c.s.known[key]
	switch {
	case !known && sig != procmgr.Interrupt:
		c.s.known[key] = nil // spent
		return procmgr.ErrNotFound
	case p == nil:
		return procmgr.ErrNotFound
	case p.snapshot.State == procmgr.Exited:
		return procmgr.ErrNotRunning
	}
	c.finish(p, 143, procmgr.CauseRequest)
	return nil
}
