package prockeep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// Open returns the Host of a directory. It uses the keeper that runs there, whichever
// program that was built from, and starts one if none runs, if that one speaks another
// protocol, or if Options.Replace asks for it. ctx bounds the call alone.
//
// The directory is made with mode 0700 if it does not exist. If others can enter it, that
// mode is set. It has to be on a local file system, and its path may have some 90 bytes.
// A directory of another user is [procmgr.ErrInvalid]. If this program has not called
// [Main], Open cannot start it as a keeper, and the error says so. A program that is
// setuid or setgid is not started as a keeper.
func Open(ctx context.Context, dir string, opts *Options) (*Host, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	h, err := newHost(dir, &o)
	if err == nil {
		err = h.open(ctx, o.Replace)
	}
	if err == nil {
		if failed := h.setLimits(ctx); failed != nil { // as of a keeper that hangs, which must not hide the others
			h.log.Warn("the keeper goes on with its earlier limits", slog.String("error", failed.Error()))
		}
	}
	if err == nil {
		err = h.hooks.start(ctx, h, &o.Local)
	}
	return h.opened("open", err)
}

// opened returns h, or closes it if there is an error.
func (h *Host) opened(verb string, err error) (*Host, error) {
	if err == nil {
		return h, nil
	}
	if h != nil {
		_ = h.Close() // there is nothing to lose
	}
	return nil, xerrors.Errorf("prockeep: %s: %w", verb, err)
}

// Find returns the Host of a directory for looking at its processes and ending them. It
// starts no keeper, makes no directory and agrees with any options; Start of its Host is
// [procmgr.ErrInvalid]. If no keeper runs and none has left processes, the error is
// [procmgr.ErrNotFound].
func Find(ctx context.Context, dir string) (*Host, error) {
	h, err := newHost(dir, &Options{})
	if err == nil {
		h.finds = true
		err = h.find(ctx)
	}
	return h.opened("find", err)
}

func (h *Host) find(ctx context.Context) error {
	if err := checkDir(h.order.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := h.recall(ctx); err != nil {
		return err
	}
	if err := h.endDead(ctx); err != nil {
		return err
	}
	tokens, err := h.keepers()
	if err == nil && len(tokens) == 0 {
		err = errNone
	}
	return err
}

func newHost(dir string, o *Options) (*Host, error) {
	if dir == "" {
		return nil, xerrors.Errorf("the directory has no name: %w", procmgr.ErrInvalid)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, xerrors.Errorf("the directory is relative, and this program's own is gone: %w", procmgr.ErrInvalid)
	}
	if len(dir) > maxDirectory {
		return nil, xerrors.Errorf("the path of the directory has %d bytes; with more than %d, no socket can be in it: %s: %w", len(dir), maxDirectory, dir, procmgr.ErrInvalid)
	}
	order, err := newOrder(dir, o)
	if err != nil {
		return nil, err
	}
	h := &Host{order: order, retain: o.Local.Retain, log: o.Logger, ids: newIDFile(dir, false), clients: make(map[string]*prochttp.Client)}
	h.view.h, h.origin.options, h.origin.policy.Policy = h, &o.Local, &o.Local.Env
	h.http.Transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		token, _, _ := net.SplitHostPort(address)
		return dial(ctx, dir, token)
	}}
	if h.retain == 0 {
		h.retain = time.Hour
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	return h, nil
}

// protocol is the version of what programs and keepers say to each other, the file "ids"
// included. It changes if one side would misunderstand the other one.
const protocol = 1

var errNone = xerrors.Errorf("no keeper runs in this directory, so it has no processes: %w", procmgr.ErrNotFound)

// newest returns the keeper that starts processes, and starts one if there is none. One
// that has died is ended by the first call that fails.
func (h *Host) newest(ctx context.Context, starts bool) (token string, err error) {
	for {
		g, err := h.latest()
		switch {
		case err != nil:
			return "", err
		case g == nil && h.finds:
			return "", errNone
		case g == nil:
			if err := h.open(ctx, false); err != nil {
				return "", err
			}
		case g.Protocol != protocol:
			return "", xerrors.Errorf("the keeper was replaced by one that speaks protocol %d, and this program speaks %d: start this program anew: %w", g.Protocol, protocol, procmgr.ErrConflict)
		case starts:
			return g.Keeper, h.order.Identity.check(g.Identity)
		default:
			return g.Keeper, nil
		}
	}
}

// open finds the keeper that starts processes, or starts one. It holds the lock of the
// directory until the keeper serves, so that only one of several programs starts it.
func (h *Host) open(ctx context.Context, replace bool) error {
	lock, err := lockDir(ctx, h.order.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := h.recall(ctx); err != nil {
		return err
	}
	g, err := h.latest()
	if err != nil {
		return err
	}
	if g != nil && !replace && g.Protocol == protocol && !isDead(h.order.Dir, g.Keeper) {
		return h.order.Identity.check(g.Identity)
	}
	if err := h.launch(ctx); err != nil {
		return err
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "keeper started", slog.String("dir", h.order.Dir))
	return nil
}

// setLimits makes the limits of this program the ones of the keeper that starts processes.
func (h *Host) setLimits(ctx context.Context) error {
	g, err := h.latest()
	if err != nil || g == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, routeTime)
	defer cancel()
	limits, _ := json.Marshal(h.order.limits()) // they are numbers
	return h.ask(ctx, g.Keeper, http.MethodPut, limits)
}

// recall lets the keepers of a directory that was removed make it anew.
func (h *Host) recall(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(h.order.Dir, nameIDs)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, token := range namedKeepers(h.order.Dir) {
		ctx, cancel := context.WithTimeout(ctx, routeTime)
		err := h.ask(ctx, token, http.MethodGet, nil)
		cancel()
		if err != nil && !h.died(ctx, token, err) {
			return xerrors.Errorf("the directory was removed, and its keeper does not answer: %w", err)
		}
	}
	return nil
}

// dyingTime is how long a killed keeper may take to close its sockets, one after the other.
const dyingTime = 2 * time.Second

// died reports whether a keeper has ended whose answer is err. Its listener may still be
// open for a moment after the connection broke. A keeper that lives answers.
func (h *Host) died(ctx context.Context, token string, err error) bool {
	ctx, cancel := context.WithTimeout(ctx, dyingTime)
	defer cancel()
	for ; ; pause(ctx) {
		if isDead(h.order.Dir, token) {
			return true
		}
		if !isBroken(err) || ctx.Err() != nil || h.ask(ctx, token, http.MethodGet, nil) == nil {
			return false
		}
	}
}

// pathKeeper is the keeper's own endpoint: GET lets it make its directory anew, PUT changes
// its limits, DELETE ends it. It has one segment, so it is the path of no process.
const pathKeeper = "/keeper"

// ask sends a request to the keeper's own endpoint.
func (h *Host) ask(ctx context.Context, token, method string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+token+pathKeeper, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := h.http.Do(req)
	if err != nil {
		return xerrors.Errorf("the keeper cannot be asked: %w", err)
	}
	defer res.Body.Close()
	switch text, err := io.ReadAll(res.Body); {
	case res.StatusCode == http.StatusForbidden:
		return xerrors.Errorf("the keeper serves no command that runs in its sandbox: %w", procmgr.ErrRefused)
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK:
		return xerrors.New(string(text))
	}
	return nil
}

// endDead ends what dead keepers have left, and tells of it. A keeper that lives does the
// same, but only now and then.
func (h *Host) endDead(ctx context.Context) error {
	tokens, err := h.keepers()
	if err != nil || !slices.ContainsFunc(tokens, func(token string) bool { return isDead(h.order.Dir, token) }) {
		return err
	}
	if err = bury(ctx, h.order.Dir); errors.Is(err, fs.ErrNotExist) {
		// The directory was removed, and possibly no other program makes it anew.
		h.mu.Lock()
		defer h.mu.Unlock()
		ids := newIDFile(h.order.Dir, true)
		defer ids.close()
		ids.table = h.ids.table
		return ids.join()
	}
	return err
}

// survivorGrace is how long what a dead keeper has left has between SIGTERM and SIGKILL.
const survivorGrace = 5 * time.Second

// bury ends what dead keepers of a directory have left, and writes down that they are gone.
// Of several programs that do that at once, one line counts. If the file was removed, the
// error is [fs.ErrNotExist]: a file that this made would know of no ID.
func bury(ctx context.Context, dir string) error {
	ids := newIDFile(dir, true)
	defer ids.close()
	if err := ids.refresh(); err != nil {
		return err
	}
	for token := range maps.Clone(ids.generations) {
		if !isDead(dir, token) {
			continue
		}
		if err := ids.join(); err != nil { // it may have ended in order since the file was read
			return err
		}
		if ids.generations[token] == nil {
			continue
		}
		var dead []osproc.Lineage
		for _, c := range ids.running(token) {
			if c.Lineage != nil {
				dead = append(dead, *c.Lineage)
			}
		}
		if err := osproc.EndSurvivors(ctx, dead, survivorGrace); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		if err := ids.append(line{Kind: lineGone, Keeper: token, At: time.Now().UnixMilli()}); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends every process of the directory as [proclocal.Local.Close] does, and then all
// keepers. It returns when they are gone, or with an error that names the processes that
// survived. If ctx ends first, the keepers go on with it. All IDs are unused again then.
// Every later call of this Host is [procmgr.ErrClosed].
func (h *Host) Stop(ctx context.Context) error {
	err := h.stopAll(ctx)
	if closed := h.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return xerrors.Errorf("prockeep: stop: %w", err)
	}
	return nil
}

func (h *Host) stopAll(ctx context.Context) error {
	lock, err := lockDir(ctx, h.order.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := h.recall(ctx); err != nil {
		return err
	}
	tokens, err := h.keepers()
	if err != nil {
		return err
	}
	errs := make(chan error, len(tokens))
	for _, token := range tokens {
		go func() { errs <- h.stop(ctx, token) }() // stopAll waits for it
	}
	for range tokens {
		err = errors.Join(err, <-errs)
	}
	if err == nil {
		err = h.endDead(ctx)
	}
	if err != nil {
		return err
	}
	ids := newIDFile(h.order.Dir, true)
	defer ids.close()
	if err := ids.join(); err != nil || !lockExclusive(ids.file) {
		return err // an earlier keeper has come back
	}
	for _, token := range tokens {
		_ = os.Remove(socketPath(h.order.Dir, token)) // of a dead one
	}
	return os.Remove(ids.path)
}

// stop ends a keeper with its processes, and waits until it is gone.
func (h *Host) stop(ctx context.Context, token string) error {
	err := h.ask(ctx, token, http.MethodDelete, nil)
	if (errors.Is(err, errAbsent) || isBroken(err)) && h.died(ctx, token, err) {
		return nil
	}
	for !isDead(h.order.Dir, token) && ctx.Err() == nil {
		pause(ctx)
	}
	return errors.Join(err, ctx.Err())
}
