package prockeep

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// Host is a [procmgr.Host] whose processes run in the keepers of a directory and outlive
// this program. It is safe for concurrent use.
//
// Each process stays with the keeper that started it. The newest keeper starts
// processes; List and Events ask all of them. If none runs, the next call starts one with
// the options of this Host.
type Host struct {
	view         // of all chats
	order  order // for a keeper that this Host starts
	finds  bool  // whether the Host was made by Find
	retain time.Duration
	log    *slog.Logger
	origin originMaker
	hooks  hooks
	http   http.Client // for the keepers' own endpoint; their tokens are the hosts of URLs

	mu      sync.Mutex // guards the fields below
	ids     *idFile
	clients map[string]*prochttp.Client // by the keepers' tokens
	closed  bool
}

var _ procmgr.Host = (*Host)(nil)

// Chat implements [procmgr.Host]. A chat's ID follows the rules of [proclocal.Local].
func (h *Host) Chat(id string) procmgr.Manager { return &view{h: h, chat: id, isChat: true} }

// Close closes the connections to the keepers, which go on with their processes. Every
// later call is [procmgr.ErrClosed].
func (h *Host) Close() error {
	h.hooks.stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.http.CloseIdleConnections()
	h.ids.close()
	return nil
}

// Handler returns a handler of the Host, for [prochttp.ServeStdio] or a server. Its
// clients take it for the same server in each program that serves the same directory: a
// client whose connection was cut, and that comes back through another program, finds
// its processes, and what it asks again runs once. A command that a client starts gets
// the environment and the directory of this program.
//
// The handler lets in everybody who reaches it, for every chat and as the host. Serve it
// only to callers who may run commands as this user.
func (h *Host) Handler() http.Handler {
	var name string
	_ = h.read(func(t *table) { name = t.instance }) // on a closed Host, the calls return the error
	handler, err := prochttp.NewHandler(h, &prochttp.HandlerOptions{Insecure: true, MaxBody: maxBody, Instance: name, Logger: h.log})
	if err != nil {
		panic(err) // the options are right
	}
	return handler
}

// read calls f with what the keepers have written down so far.
func (h *Host) read(f func(t *table)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return xerrors.Errorf("this Host of the keepers was closed: %w", procmgr.ErrClosed)
	}
	if err := h.ids.refresh(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f(&h.ids.table) // if the file was removed, the keepers are about to write it anew
	return nil
}

// latest returns the keeper that starts processes, or nil.
func (h *Host) latest() (g *line, err error) {
	err = h.read(func(t *table) { g = t.generations[t.newest] })
	return g, err
}

// keepers returns the keepers that have not ended in order.
func (h *Host) keepers() (tokens []string, err error) {
	err = h.read(func(t *table) { tokens = slices.Collect(maps.Keys(t.generations)) })
	return tokens, err
}

// client returns the client of a keeper.
func (h *Host) client(token string) *prochttp.Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clients[token]; c != nil {
		return c
	}
	// A keeper is on this machine, so no answer means that it hangs or is gone.
	c, err := prochttp.NewClient("http://"+token, &prochttp.ClientOptions{Transport: h.http.Transport, Inject: inject, Retry: -1, Logger: h.log})
	if err != nil {
		panic(err) // the options are right
	}
	maps.DeleteFunc(h.clients, func(old string, _ *prochttp.Client) bool { return h.ids.generations[old] == nil }) // it has ended
	h.clients[token] = c
	return c
}

// A view is what the host or one chat sees.
type view struct {
	h      *Host
	chat   string
	isChat bool
}

// at returns the view that a keeper has.
func (v *view) at(token string) procmgr.Manager {
	c := v.h.client(token)
	if v.isChat {
		return c.Chat(v.chat)
	}
	return c
}

// valid returns an error if the chat has no valid ID: such a chat must not act as the
// host.
func (v *view) valid() error {
	if v.isChat {
		return check.Chat(v.chat)
	}
	return nil
}

// locate returns what is known of an ID, or nil, and the keeper that has it, or "" if
// that has ended. Unless it is about to start one, the host finds the IDs of every chat.
func (v *view) locate(id string, starts bool) (found *claim, token string, err error) {
	failed := v.h.read(func(t *table) {
		c := t.claims[idKey{v.chat, id}]
		if !v.isChat && !starts {
			all := t.started(id)
			if len(all) > 1 {
				err = xerrors.Errorf("%d chats have a process with this ID, ask in the chat: %w", len(all), procmgr.ErrConflict)
				return
			}
			if len(all) == 1 {
				c = all[0]
			}
		}
		if c == nil {
			return
		}
		own := *c
		found = &own
		if t.generations[c.Keeper] != nil {
			token = c.Keeper
		}
	})
	return found, token, cmp.Or(failed, err)
}

// maxPatience is how long a call waits for a keeper that is about to end to make room for
// the next one.
const maxPatience = 15 * time.Second

// pause waits until it makes sense to try again.
func pause(ctx context.Context) {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
}

// call asks the keeper that has an ID, or the newest one if none has it. If that keeper
// dies meanwhile or says that another one has it, call asks anew. If the keeper that had
// the ID is gone, it asks a tombstone. It also returns what is known of the ID.
func call[T any](ctx context.Context, v *view, id string, starts bool, do func(m procmgr.Manager) (T, error)) (out T, known *claim, err error) {
	if err := v.valid(); err != nil {
		return out, nil, err
	}
	for until := time.Now().Add(maxPatience); ; pause(ctx) {
		if err := ctx.Err(); err != nil {
			return out, known, err
		}
		var token string
		if known, token, err = v.locate(id, starts); err != nil {
			return out, known, err
		}
		if known == nil {
			token, err = v.h.newest(ctx, starts)
		}
		switch {
		case err != nil:
			return out, known, err
		case token == "":
			out, err = do(tombstone{c: known})
			return out, known, err
		}
		out, err = do(v.at(token))
		switch {
		case err == nil, ctx.Err() != nil:
			return out, known, err
		case known != nil && known.end != nil && (errors.Is(err, procmgr.ErrNotFound) || starts && errors.Is(err, procmgr.ErrConflict)): // its keeper remembers fewer
			out, err = do(tombstone{c: known})
			return out, known, err
		case errors.Is(err, procmgr.ErrClosed) && time.Now().Before(until):
		case v.h.died(ctx, token, err):
			if failed := v.h.endDead(ctx); failed != nil {
				return out, known, failed
			}
		default:
			return out, known, err
		}
	}
}

// starting is the parameter starts of call for a Start.
const starting = true

// Start implements [procmgr.Manager]. A process that the host itself starts belongs to no
// chat. Its command gets the environment of this program, as Options.Local has it, and
// runs in this program's current directory if the request names none.
func (v *view) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if v.h.finds {
		return procmgr.Output{}, callerr.Wrap("start", req.ID, errFinds)
	}
	own := req.ID == ""
	if own {
		req.ID = procmgr.NewID()
	}
	if err := v.valid(); err != nil {
		return procmgr.Output{}, callerr.Wrap("start", req.ID, err)
	}
	from, err := v.h.origin.make(ctx, v.chat, req.Stdin == procmgr.StdinTerminal)
	if err != nil {
		// Without an origin, a start that was begun before gets its answer, and no other.
		if known, _, failed := v.locate(req.ID, starting); known == nil || failed != nil {
			v.h.hooks.refused(err)
			return procmgr.Output{}, callerr.Wrap("start", req.ID, err)
		}
	}
	ctx = context.WithValue(ctx, originKey{}, from)
	sent, came := false, time.Now() // whether a claim since then may be this call's
	out, known, err := call(ctx, v, req.ID, starting, func(m procmgr.Manager) (procmgr.Output, error) {
		again := req
		again.Age = check.Older(req.Age, came)
		out, err := m.Start(ctx, again)
		sent = sent || err != nil && out.Process.ID != ""
		return out, err
	})
	if err == nil && sent && known != nil && known.lost() && known.At >= came.UnixMilli() {
		err = xerrors.Errorf("the keeper died when it was about to run the command: %w", procmgr.ErrUnknown)
	}
	out.Attached = out.Attached && !own
	if err != nil && out.Process.ID == "" {
		v.h.hooks.refused(err)
	}
	return out, named("start", req.ID, err)
}

var errStopped = xerrors.Errorf("it was stopped before it began, so nothing was run; take another ID to run it after all: %w", procmgr.ErrConflict)

var errFinds = xerrors.Errorf("this Host was made by Find, which starts nothing: use Open: %w", procmgr.ErrInvalid)

// named names the call of an error, unless the keeper's client has done that.
func named(verb, id string, err error) error {
	var reasoned interface{ Reason() string }
	if err == nil || errors.As(err, &reasoned) {
		return err
	}
	return callerr.Wrap(verb, id, err)
}

// Output implements [procmgr.Manager]. The host finds the processes of every chat.
func (v *view) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, known, err := call(ctx, v, id, !starting, func(m procmgr.Manager) (procmgr.Output, error) { return m.Output(ctx, id, req) })
	if err != nil && out.Process.ID == "" && known != nil && known.end == nil && !answered(err) {
		out.Process = known.process()
	}
	return out, named("output", id, err)
}

// answered reports whether an error is a keeper's answer, and not the lack of one.
func answered(err error) bool {
	for _, is := range []error{
		procmgr.ErrNotFound, procmgr.ErrInvalid, procmgr.ErrConflict, procmgr.ErrRefused, procmgr.ErrLimit, procmgr.ErrClosed, errors.ErrUnsupported,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// Signal implements [procmgr.Manager]. The host finds the processes of every chat.
func (v *view) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	_, _, err := call(ctx, v, id, !starting, func(m procmgr.Manager) (struct{}, error) { return struct{}{}, m.Signal(ctx, id, sig) })
	return named("signal", id, err)
}

// Input implements [procmgr.Manager]. The host finds the processes of every chat.
func (v *view) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	out, _, err := call(ctx, v, id, !starting, func(m procmgr.Manager) (procmgr.InputOutput, error) { return m.Input(ctx, id, req) })
	return out, named("input", id, err)
}

// Describe implements [procmgr.Manager]. Its Sandbox is as for [proclocal.Local.Describe], by
// this program's PerChat.
func (v *view) Describe(ctx context.Context) (procmgr.Description, error) {
	out, _, err := call(ctx, v, "", !starting, func(m procmgr.Manager) (procmgr.Description, error) { return m.Describe(ctx) })
	if err == nil && v.h.origin.options.PerChat != nil {
		out.Sandbox = v.chatRules(ctx, out.Sandbox)
	}
	return out, named("describe", "", err)
}

// chatRules returns the rules of a chat by PerChat. keeper are the keeper's.
func (v *view) chatRules(ctx context.Context, keeper *procmgr.SandboxRules) *procmgr.SandboxRules {
	if !v.isChat {
		return nil // they may differ between chats
	}
	chat, _, err := v.h.origin.chat(ctx, v.chat)
	switch {
	case err != nil:
		return nil
	case chat.Sandbox == nil:
		return keeper
	}
	rules := chat.Sandbox.Rules()
	return check.Sandbox(&rules)
}

// process returns what is known of the process of a claim.
func (c *claim) process() procmgr.Process {
	p := procmgr.Process{ID: c.ID, ChatID: c.Chat, State: procmgr.Running, StartedAt: time.UnixMilli(c.At)}
	until := time.Now()
	if e := c.end; e != nil {
		p.State, p.ExitCode, p.Signal, p.EndedBy, p.ExitedAt = procmgr.Exited, e.Code, e.Signal, e.EndedBy, time.UnixMilli(e.At)
		until = p.ExitedAt
	}
	p.Elapsed = max(until.Sub(p.StartedAt), 0)
	return p
}

// A tombstone answers for a process whose keeper is gone.
type tombstone struct {
	procmgr.Unsupported
	c *claim
}

// Start implements [procmgr.Manager].
func (t tombstone) Start(_ context.Context, req procmgr.StartRequest) (out procmgr.Output, err error) {
	switch {
	case t.c.Kind == lineStop:
		return out, errStopped
	case t.c.Print != fingerprint(req):
		return out, xerrors.Errorf("this ID ran another command, directory, environment or stdin; take another ID: %w", procmgr.ErrConflict)
	}
	out, err = t.Output(context.Background(), req.ID, procmgr.OutputRequest{})
	out.Attached = true
	return out, err
}

// Output implements [procmgr.Manager].
func (t tombstone) Output(_ context.Context, _ string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if t.c.Kind == lineStop {
		return procmgr.Output{}, procmgr.ErrNotFound
	}
	return procmgr.Output{Process: t.c.process(), Next: max(req.From, 0), Truncated: &headtail.Truncation{Unknown: true}}, nil
}

// Signal implements [procmgr.Manager].
func (t tombstone) Signal(context.Context, string, procmgr.Signal) error {
	if t.c.Kind == lineStop {
		return procmgr.ErrNotFound
	}
	return procmgr.ErrNotRunning
}

// Input implements [procmgr.Manager].
func (t tombstone) Input(ctx context.Context, id string, _ procmgr.InputRequest) (procmgr.InputOutput, error) {
	return procmgr.InputOutput{}, t.Signal(ctx, id, procmgr.Interrupt)
}

// fingerprint returns a text that differs if two starts are not for the same command.
func fingerprint(req procmgr.StartRequest) string {
	sum := idempotency.OfStart(req)
	return hex.EncodeToString(sum[:16])
}
