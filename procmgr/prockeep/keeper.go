package prockeep

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// retry is how long a call repeats its request while it gets no answer. A keeper
// is on this machine: either it answers or it is gone.
const retry = 2 * time.Second

// Keeper is a [procmgr.Host] whose processes outlive this program. It is safe for
// concurrent use.
//
// If the keeper has ended, the next call starts another one with the options of
// this handle. After [Keeper.Stop] or the end by Options.Idle, that one knows
// nothing of earlier processes: Output and Signal of a process that this handle
// had started match both [procmgr.ErrNotFound] and [procmgr.ErrUnknown]. After the
// death of a keeper it knows them.
type Keeper struct {
	all    *manager // the host's view of all chats
	opener opener
	client *prochttp.Client

	turn   chan struct{}  // held by the call that opens anew
	redact []redact.Value // besides those of the environment

	mu     sync.Mutex // guards the fields below
	line   *line
	closed bool
}

var _ procmgr.Host = (*Keeper)(nil)

// Open returns the keeper of a directory, and starts it if none runs. Two
// programs that open a directory at the same instant get the same keeper. ctx
// bounds the call alone.
//
// The directory is made with mode 0700 if it does not exist. If others can enter
// it, that mode is set. A directory of another user is [procmgr.ErrInvalid], and
// so is one whose path is too long for a socket in it: some 90 bytes are allowed
// on all systems. If this program has not called [Main], Open cannot start it as
// a keeper, and the error says so. A program that is setuid or setgid is not
// started as a keeper. If the keeper that runs speaks another protocol, the error
// is [ErrIncompatible].
func Open(ctx context.Context, dir string, opts *Options) (*Keeper, error) {
	k, err := open(ctx, dir, opts)
	if err != nil {
		return nil, xerrors.Errorf("prockeep: open: %w", err)
	}
	return k, nil
}

// Running reports whether a keeper runs in a directory, or one has died there and
// may have left processes. It starts and makes nothing. It is true also if that
// cannot be told; Open then says why.
func Running(ctx context.Context, dir string) bool { return !absent(ctx, dir) }

func open(ctx context.Context, dir string, opts *Options) (*Keeper, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	own, err := pass(o)
	if err != nil {
		return nil, err
	}
	if err := checkNames(o.Require); err != nil {
		return nil, err
	}
	require := slices.Clone(o.Require)
	if o.Local.Sandbox != nil {
		require = append(require, nameSandbox)
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{
		opener: opener{options: own, require: require, log: log},
		turn:   make(chan struct{}, 1),
	}
	for _, s := range o.Local.Redact {
		v := redact.Value(s)
		if err := redact.Check(v); err != nil {
			return nil, xerrors.Errorf("Options.Local.Redact: %v: %w", err, procmgr.ErrInvalid)
		}
		k.redact = append(k.redact, v)
	}
	if err := k.opener.take(dir); err != nil {
		return nil, err
	}
	if k.line, err = k.opener.connect(ctx); err != nil {
		return nil, err
	}
	target := url.URL{Scheme: "unix", Path: k.opener.socket()}
	if k.client, err = prochttp.NewClient(target.String(), &prochttp.ClientOptions{Retry: retry, Logger: o.Logger}); err != nil {
		k.line.close()
		return nil, err
	}
	k.all = newManager(k, func(h procmgr.Host) procmgr.Manager { return h })
	return k, nil
}

// Options returns the options with which the keeper runs: those of the program
// that started it. Require and Logger are not among them.
func (k *Keeper) Options() Options {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.line.options()
}

// Start implements [procmgr.Manager]. The process belongs to no chat. Its command
// gets the environment of this program, as far as the keeper's policy lets it
// through, and runs in this program's current directory if the request names
// none.
func (k *Keeper) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	return k.all.Start(ctx, req)
}

// Output implements [procmgr.Manager]. It finds the processes of every chat.
func (k *Keeper) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return k.all.Output(ctx, id, req)
}

// List implements [procmgr.Manager]. It has the processes of every chat.
func (k *Keeper) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return k.all.List(ctx, req)
}

// Signal implements [procmgr.Manager]. It finds the processes of every chat.
func (k *Keeper) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	return k.all.Signal(ctx, id, sig)
}

// Events implements [procmgr.Manager]. It has the events of every chat. A
// keeper that was started since the cursor was returned tells it by a gap.
func (k *Keeper) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return k.all.Events(ctx, req)
}

// Input implements [procmgr.Manager]. It finds the processes of every chat.
func (k *Keeper) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return k.all.Input(ctx, id, req)
}

// Describe implements [procmgr.Manager].
func (k *Keeper) Describe(ctx context.Context) (procmgr.Description, error) {
	return k.all.Describe(ctx)
}

// Chat implements [procmgr.Host]. The rules for a chat's ID are those of
// [proclocal.Local].
func (k *Keeper) Chat(id string) procmgr.Manager {
	return newManager(k, func(h procmgr.Host) procmgr.Manager { return h.Chat(id) })
}

// Close closes the connections to the keeper. The keeper and its processes go on.
// Every later call is [procmgr.ErrClosed].
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.line.close()
	return k.client.Close()
}

// Stop ends every process as [proclocal.Local.Close] does, and then the keeper. It
// returns when both are gone, or with an error that names the processes that
// survived. If ctx ends first, the keeper goes on with it. If the keeper is killed
// before that, Stop lets another one end the processes. Every later call of this
// handle is [procmgr.ErrClosed]; other programs that use the keeper start another
// one with their next call. If no keeper runs, Stop ends what a dead one has left.
func (k *Keeper) Stop(ctx context.Context) error {
	err := k.opener.stop(ctx)
	if closed := k.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return xerrors.Errorf("prockeep: stop: %w", err)
	}
	return nil
}

// Upgrade lets the keeper go on as the program that calls this, or as Options.Path
// if that is set. Processes, output, exit codes, IDs and events stay as they are;
// nothing is lost and nothing comes twice. A call that is under way, of this
// handle or of another program, is asked again by its handle. The options stay
// those with which the keeper was started.
//
// The new program first checks whether it can go on. If it cannot, or if it fails
// before it serves, the keeper goes on as the program of before, and the error
// says why. If two programs upgrade at once, one follows the other. If no keeper
// runs, Upgrade starts one. On systems other than Linux it is
// [errors.ErrUnsupported].
func (k *Keeper) Upgrade(ctx context.Context) error {
	k.mu.Lock()
	closed := k.closed
	k.mu.Unlock()
	err := error(procmgr.ErrClosed)
	if !closed {
		err = k.opener.upgrade(ctx)
	}
	if err != nil {
		return xerrors.Errorf("prockeep: upgrade: %w", err)
	}
	return nil
}

// ready returns the connection to a keeper that lives, and starts one if
// necessary. A keeper that has died is noticed before anything is sent to it, so
// that a request is lost only if it died while it had that request.
func (k *Keeper) ready(ctx context.Context) (*line, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k.mu.Lock()
	now, closed := k.line, k.closed
	k.mu.Unlock()
	switch {
	case closed:
		return nil, xerrors.Errorf("this handle of the keeper was closed: %w", procmgr.ErrClosed)
	case now.alive():
		if k.opener.isLost() {
			if l, err := k.opener.recall(ctx); err == nil { // otherwise the call fails, and says why
				l.close()
			}
		}
		return now, nil
	}
	next, err := k.openAnew(ctx, now)
	if err != nil {
		return nil, xerrors.Errorf("the keeper has ended, and opening it anew failed: %w", err)
	}
	return next, nil
}

// openAnew replaces a connection that is dead. The first of several calls does
// it, and the others wait for it.
func (k *Keeper) openAnew(ctx context.Context, dead *line) (*line, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	k.mu.Lock()
	now := k.line
	k.mu.Unlock()
	if now != dead {
		return now, nil
	}
	next, err := k.opener.connect(ctx)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	dead.close()
	if k.closed {
		next.close()
		return nil, procmgr.ErrClosed
	}
	k.line = next
	_ = k.client.Close() // its idle connections lead to the dead keeper
	return next, nil
}
