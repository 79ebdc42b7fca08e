package proctest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	requests "github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
)

// A scriptView is the view of a chat, or of the host itself.
type scriptView struct {
	s    *Script
	chat string // "" for the host
	bad  error  // of every call, if there can be no such chat
}

func (v scriptView) Start(ctx context.Context, req procmgr.StartRequest) (out procmgr.Output, err error) {
	defer func() { err = callerr.Wrap("start", req.ID, err) }()
	notice, err := capture.NewNotice(req.Notify)
	if err := cmp.Or(v.bad, err, ctx.Err(), requests.Start(req)); err != nil {
		return procmgr.Output{}, err
	}
	if req.Stdin == procmgr.StdinTerminal {
		return procmgr.Output{}, xerrors.Errorf("a script has no terminals: %w", errors.ErrUnsupported)
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	c, err := v.find(req.ID, true)
	attached := c != nil
	switch {
	case v.s.closed:
		return procmgr.Output{}, procmgr.ErrClosed
	case errors.Is(err, procmgr.ErrConflict), attached && idempotency.OfStart(c.Request) != idempotency.OfStart(req):
		return procmgr.Output{}, xerrors.Errorf("the ID is spent, or of another command: %w", procmgr.ErrConflict)
	case !attached:
		if err := requests.Age(req.Age, v.s.made); err != nil {
			return procmgr.Output{}, err
		}
		c = v.begin(req, notice)
	}
	err = c.await(ctx, req.Wait, procmgr.Running, nil, never)
	out = c.read(0, req.Limit, nil)
	out.Attached = attached
	return out, err
}

func never() bool { return false }

// begin begins to play a command.
func (v scriptView) begin(req procmgr.StartRequest, notice *capture.Matcher) *Command {
	s, n := v.s, len(v.s.commands)
	req.ID, req.Env = cmp.Or(req.ID, procmgr.NewID()), maps.Clone(req.Env)
	c := &Command{Request: req, s: s, out: capture.NewStream(&s.output, 0), noInput: req.Stdin == procmgr.StdinEmpty, p: procmgr.Process{
		ID: req.ID, ChatID: v.chat, Command: req.Command, WorkDir: path.Join("/", req.WorkDir), Background: req.Background, Stdin: req.Stdin,
		PID: 1000 + n, State: procmgr.Running, StartedAt: time.Now(),
	}}
	c.wrote.Max = math.MaxInt
	if notice != nil {
		c.out.Notify(notice, func(line string) { s.tell(procmgr.EventMatched, c, line) })
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	play := Prints("no play is scripted for this command\n", 127)
	for _, scene := range slices.Backward(s.scenes) {
		if len(scene.plays) > 0 && scene.pattern.MatchString(req.Command) {
			play = scene.plays[min(scene.played, len(scene.plays)-1)]
			scene.played++
			break
		}
	}
	s.commands = append(s.commands, c)
	s.tell(procmgr.EventStarted, c, "")
	s.playing.Add(1)
	go c.play(play)
	return c
}

// find returns the command with an ID that the view shows. Start has its own chat alone
// in view, and what a stop has spent is a conflict there.
func (v scriptView) find(id string, starting bool) (found *Command, err error) {
	if starting && v.s.spent[[2]string{v.chat, id}] {
		return nil, procmgr.ErrConflict
	}
	for _, c := range v.s.commands {
		if c.p.ID != id || c.p.ChatID != v.chat && (v.chat != "" || starting) {
			continue
		}
		if found != nil {
			return nil, xerrors.Errorf("several chats have it: %w", procmgr.ErrConflict)
		}
		found = c
	}
	if found == nil {
		err = procmgr.ErrNotFound
	}
	return found, err
}

func (v scriptView) Output(ctx context.Context, id string, req procmgr.OutputRequest) (out procmgr.Output, err error) {
	defer func() { err = callerr.Wrap("output", id, err) }()
	m, err := capture.NewMatcher(req.Until)
	if err := cmp.Or(v.bad, err, ctx.Err()); err != nil {
		return procmgr.Output{}, err
	}
	if req.Ports || req.UntilListening != 0 {
		return procmgr.Output{}, xerrors.Errorf("a script has no ports: %w", errors.ErrUnsupported)
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	c, err := v.find(id, false)
	if err != nil {
		return procmgr.Output{}, err
	}
	from := min(max(req.From, 0), c.out.Visible())
	if m != nil {
		err = c.out.Watch(ctx, m, from)
	}
	if err == nil {
		err = c.await(ctx, req.Wait, cmp.Or(req.State, c.p.State), m, never)
	}
	return c.read(from, req.Limit, m), err
}

func (v scriptView) Input(ctx context.Context, id string, req procmgr.InputRequest) (res procmgr.InputOutput, err error) {
	defer func() { err = callerr.Wrap("input", id, err) }()
	m, err := capture.NewMatcher(req.Until)
	if err := cmp.Or(v.bad, err, ctx.Err(), requests.Input(req)); err != nil {
		return res, err
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	c, err := v.find(id, false)
	switch {
	case err != nil:
		return res, err
	case c.Request.Stdin == procmgr.StdinEmpty, len(req.Keys) > 0, req.Secret:
		return res, xerrors.Errorf("it has no stdin, or that is a pipe without keys: %w", procmgr.ErrInvalid)
	}
	var refused error
	mark, err := c.wrote.Do(ctx, req.IdempotencyKey, idempotency.FingerprintOf(string(req.Data), fmt.Sprint(req.Close)), func(mark *capture.Mark) bool {
		switch {
		case c.noInput && len(req.Data) > 0:
			refused = xerrors.Errorf("its stdin is closed: %w", procmgr.ErrInvalid)
		case c.p.State == procmgr.Exited && requests.Writes(req):
			refused = procmgr.ErrNotRunning
		default:
			*mark = c.out.Mark()
			c.stdin, c.noInput = append(c.stdin, req.Data...), c.noInput || req.Close
			v.s.change()
		}
		return refused != nil
	})
	if err := cmp.Or(err, refused); err != nil {
		return res, err
	}
	if m != nil {
		err = c.out.WatchAfter(ctx, m, *mark)
	}
	state, end := c.p.State, time.Now().Add(req.Wait)
	for quiet, n := max(req.UntilQuiet, 2*time.Second), mark.Total; err == nil && (m != nil || req.UntilQuiet > 0); quiet, n = req.UntilQuiet, c.out.Total() {
		wait := time.Until(end)
		if req.UntilQuiet > 0 {
			wait = min(wait, quiet)
		}
		printed := func() bool { return req.UntilQuiet > 0 && c.out.Total() > n }
		if err = c.await(ctx, wait, state, m, printed); !printed() || c.past(state, m) || wait <= 0 {
			break
		}
	}
	return procmgr.InputOutput{Output: c.read(mark.Offset, req.Limit, m), Written: len(req.Data)}, err
}

func (v scriptView) Signal(ctx context.Context, id string, sig procmgr.Signal) (err error) {
	defer func() { err = callerr.Wrap("signal", id, err) }()
	if err := cmp.Or(v.bad, requests.Signal(sig), requests.ID(id), ctx.Err()); err != nil {
		return err
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	c, err := v.find(id, false)
	if errors.Is(err, procmgr.ErrNotFound) && sig != procmgr.Interrupt {
		v.s.spent[[2]string{v.chat, id}] = true
	}
	switch {
	case err != nil:
		return err
	case c.p.State == procmgr.Exited:
		return procmgr.ErrNotRunning
	}
	c.end(sig, procmgr.CauseRequest)
	if sig != procmgr.Kill {
		return nil
	}
	if err := v.s.wait(ctx, 5*time.Second, func() bool { return c.p.State == procmgr.Exited }); err != nil || c.p.State == procmgr.Exited {
		return err
	}
	return errors.New("its play goes on after 5 s: it has to look at Command.Context")
}

func (v scriptView) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	var all []procmgr.Process
	for _, c := range v.s.commands {
		if v.chat == "" || c.p.ChatID == v.chat {
			all = append(all, c.process())
		}
	}
	page, err := procmgr.PageOf(all, req)
	if v.bad != nil {
		page, err = procmgr.ListPage{}, v.bad
	}
	return page, callerr.Wrap("list", "", err)
}

func (v scriptView) Events(ctx context.Context, req procmgr.EventsRequest) (page procmgr.EventPage, err error) {
	defer func() { err = callerr.Wrap("events", "", err) }()
	if err := cmp.Or(v.bad, ctx.Err()); err != nil {
		return page, err
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	at, unknown := strconv.Atoi(cmp.Or(req.After, "0"))
	if page.Gap = unknown != nil || at < 0 || at > len(v.s.log); page.Gap {
		at = 0
	}
	seen := func() bool {
		for ; at < len(v.s.log) && (req.Limit < 0 || len(page.Events) < cmp.Or(req.Limit, 100)); at++ {
			if e := v.s.log[at]; v.chat == "" || e.Process.ChatID == v.chat {
				page.Events = append(page.Events, e)
			}
		}
		page.Next = strconv.Itoa(at)
		return len(page.Events) > 0 || page.Gap
	}
	if !seen() {
		err = v.s.wait(ctx, req.Wait, seen)
	}
	return page, err
}

func (v scriptView) Describe(context.Context) (procmgr.Description, error) {
	return v.s.Description, callerr.Wrap("describe", "", v.bad)
}
