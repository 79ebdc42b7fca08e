package prockeep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/procroute"
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
		_, err = h.open(ctx, o.Replace)
	}
	if err == nil {
		err = h.hooks.start(ctx, h, &o.Local)
	}
	if err != nil {
		if h != nil {
			_ = h.Close() // there is nothing to lose
		}
		return nil, xerrors.Errorf("prockeep: open: %w", err)
	}
	return h, nil
}

// Find returns the Host of a directory for looking at its processes and ending them. It
// starts no keeper, makes no directory and agrees with any options; Start of its Host is
// [procmgr.ErrInvalid]. If no keeper runs and none has left processes, the error is
// [procmgr.ErrNotFound].
func Find(ctx context.Context, dir string) (*Host, error) {
	h, err := newHost(dir, &Options{})
	if err == nil {
		h.finds = true
		if info, failed := os.Stat(h.dir); failed == nil && !info.IsDir() {
			err = xerrors.Errorf("%s is no directory: %w", h.dir, procmgr.ErrInvalid)
		} else if err = h.recall(ctx); err == nil {
			err = h.endDead(ctx)
		}
	}
	left := 0
	if err == nil {
		err = h.read(func(t *table) { left = len(t.generations) }) // the newest one may have died before the others
	}
	if err == nil && left == 0 {
		err = xerrors.Errorf("no keeper runs: %w", procmgr.ErrNotFound)
	}
	if err != nil {
		return nil, xerrors.Errorf("prockeep: find: %w", err)
	}
	return h, nil
}

func newHost(dir string, o *Options) (*Host, error) {
	p, err := pass(o)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, xerrors.Errorf("the directory has no name: %w", procmgr.ErrInvalid)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, xerrors.Errorf("the directory is relative, and this program's own is gone: %w", procmgr.ErrInvalid)
	}
	if len(dir) > maxDirectory {
		return nil, xerrors.Errorf("the path of the directory has %d bytes; with more than %d, no socket can be in it: %s: %w", len(dir), maxDirectory, dir, procmgr.ErrInvalid)
	}
	local := o.Local
	h := &Host{
		dir: dir, path: o.Path, passed: p, retain: o.Local.Retain, log: o.Logger,
		ids: newIDFile(dir), clients: make(map[string]*client),
	}
	h.view.h, h.origin.options, h.origin.identity = h, &local, p.Identity
	h.route = procroute.New(router{h}, &procroute.Options{Timeout: routeTime})
	if h.retain == 0 {
		h.retain = time.Hour
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	return h, nil
}

// dialer returns the function by which a transport reaches a keeper.
func dialer(dir, token string) func(ctx context.Context, _, _ string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dir, token) }
}

// isAbsentFile reports whether an error says that there is no such file, nor a directory
// in which it could be.
func isAbsentFile(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNoDirectory(err)
}

// newest returns the keeper that starts processes, and starts one if there is none.
func (h *Host) newest(ctx context.Context) (token string, err error) {
	var g *generation
	if err := h.read(func(t *table) { g = t.generations[t.newest] }); err != nil {
		return "", err
	}
	switch {
	case g == nil: // of one that has died, the first call that fails makes this
		if h.finds {
			return "", xerrors.Errorf("no keeper runs: %w", procmgr.ErrNotFound)
		}
		return h.open(ctx, false)
	case g.Protocol != protocol:
		return "", xerrors.Errorf("the keeper was replaced by one that speaks protocol %d, and this program speaks %d: start this program anew: %w", g.Protocol, protocol, procmgr.ErrConflict)
	}
	return g.Keeper, nil
}

// errEarly is the error of a keeper that has ended before it served, as if it was killed.
var errEarly = xerrors.New("the keeper ended before it served")

var errAbsent = xerrors.New("no keeper runs")

// maxOpens is how many keepers Open meets that end in the midst of it, or that it starts
// and that end at once.
const maxOpens = 5

// open returns the keeper that starts processes. It holds the lock of the directory until
// that answers, so that of several programs one starts it.
func (h *Host) open(ctx context.Context, replace bool) (token string, err error) {
	lock, err := lockDir(ctx, h.dir)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	for range maxOpens {
		if err := h.recall(ctx); err != nil {
			return "", err
		}
		var g *generation
		if err := h.read(func(t *table) { g = t.generations[t.newest] }); err != nil {
			return "", err
		}
		if g == nil || replace || g.Protocol != protocol || isDead(h.dir, g.Keeper) {
			if token, err = h.launch(ctx); errors.Is(err, errEarly) {
				continue
			} else if err != nil {
				return "", err
			}
			h.log.LogAttrs(ctx, slog.LevelInfo, "keeper started", slog.String("dir", h.dir))
			replace = false
			// A keeper that serves is greeted even if ctx ends now.
			ctx = context.WithoutCancel(ctx)
			continue
		}
		answer, err := h.greet(ctx, g.Keeper, http.MethodPost)
		switch {
		case err == nil && answer.Conflict != "":
			return "", conflict(answer.Conflict)
		case err == nil && !answer.Ending:
			return g.Keeper, nil
		case err != nil && !h.died(ctx, g.Keeper, err):
			return "", err
		}
		if err := h.awaitDeath(ctx, g.Keeper); err != nil {
			return "", err
		}
	}
	return "", xerrors.Errorf("each of %d keepers ended as soon as it was started; %s may say why", maxOpens, filepath.Join(h.dir, nameLog))
}

// recall lets the keepers of a directory that was removed make it anew.
func (h *Host) recall(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(h.dir, nameIDs)); !isAbsentFile(err) {
		return nil
	}
	for _, token := range namedKeepers(h.dir) {
		if _, err := h.greet(ctx, token, http.MethodGet); err != nil && !h.died(ctx, token, err) {
			return err
		}
	}
	return nil
}

// dyingTime is how long a killed keeper may take to close its sockets, one after the other.
const dyingTime = 2 * time.Second

// died reports whether a keeper has ended whose answer is err. Its listener may still be
// open for a moment after the connection broke.
func (h *Host) died(ctx context.Context, token string, err error) bool {
	var p pause
	for until := time.Now().Add(dyingTime); ; p.wait(ctx) {
		if isDead(h.dir, token) {
			return true
		}
		if !isBroken(err) || ctx.Err() != nil || time.Now().After(until) {
			return false
		}
	}
}

// awaitDeath waits until a keeper that is about to end has ended.
func (h *Host) awaitDeath(ctx context.Context, token string) error {
	var p pause
	for !isDead(h.dir, token) {
		if p.wait(ctx); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// greetTime is how long a keeper may take to answer a greeting.
const greetTime = 10 * time.Second

// greet sends a request for the keeper itself.
func (h *Host) greet(ctx context.Context, token, method string) (answer hello, err error) {
	if method != http.MethodDelete { // that one takes as long as the processes take to end
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, greetTime)
		defer cancel()
	}
	data, err := json.Marshal(hello{Identity: h.passed.Identity, Limits: h.passed.Limits})
	if err != nil {
		return answer, err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+pathKeeper, bytes.NewReader(data))
	if err != nil {
		return answer, err
	}
	res, err := h.client(token).http.Do(req)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return answer, xerrors.Errorf("the keeper has not answered for %v, it may be stopped: %w", greetTime, err)
	case err != nil:
		return answer, xerrors.Errorf("the keeper cannot be asked: %w", err)
	}
	defer res.Body.Close()
	data, err = io.ReadAll(res.Body)
	switch {
	case err != nil:
		return answer, err
	case res.StatusCode == http.StatusForbidden:
		return answer, xerrors.Errorf("the keeper serves no command that runs in its sandbox: %w", procmgr.ErrRefused)
	case res.StatusCode != http.StatusOK || json.Unmarshal(data, &answer) != nil:
		return answer, xerrors.Errorf("the socket is that of a server which is no keeper (status %d): %w", res.StatusCode, procmgr.ErrInvalid)
	}
	return answer, nil
}

// endDead ends what dead keepers have left, and tells of it. A keeper that lives does the
// same, but only now and then.
func (h *Host) endDead(ctx context.Context) error {
	left := make(map[string][]osproc.Lineage)
	err := h.read(func(t *table) {
		for _, token := range t.tokens() {
			left[token] = t.generations[token].lineages()
		}
	})
	if err != nil {
		return err
	}
	for token, dead := range left {
		if !isDead(h.dir, token) {
			continue
		}
		// It may have ended in order after it was read.
		if err := h.read(func(t *table) {
			if g := t.generations[token]; g != nil {
				dead = g.lineages()
			} else {
				token = ""
			}
		}); err != nil {
			return err
		}
		if token == "" {
			continue
		}
		if err := osproc.EndSurvivors(ctx, dead, survivorGrace); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		if err := h.tellGone(token); err != nil {
			return err
		}
	}
	return nil
}

// tellGone writes down that a keeper and its processes are gone.
func (h *Host) tellGone(token string) error {
	w := idWriter{newIDFile(h.dir)}
	defer w.close()
	if _, err := os.Stat(w.path); err != nil { // those who live make it anew
		return err
	}
	if err := w.join(); err != nil {
		return err
	}
	return w.append(line{Kind: lineGone, Keeper: token, At: time.Now().UnixMilli()})
}

// lineages returns the evidence of the processes of a keeper that may live.
func (g *generation) lineages() (all []osproc.Lineage) {
	for _, c := range g.claims() {
		if c.Lineage != nil {
			all = append(all, *c.Lineage)
		}
	}
	return all
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
	lock, err := lockDir(ctx, h.dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := h.recall(ctx); err != nil {
		return err
	}
	var tokens []string
	if err := h.read(func(t *table) { tokens = t.tokens() }); err != nil {
		return err
	}
	errs := make(chan error, len(tokens))
	for _, token := range tokens {
		go func() { // stopAll waits for it
			answer, err := h.greet(ctx, token, http.MethodDelete)
			if err == nil || h.died(ctx, token, err) {
				err = h.awaitDeath(ctx, token)
			}
			if err == nil && answer.Error != "" {
				err = xerrors.New(answer.Error)
			}
			errs <- err
		}()
	}
	for range tokens {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return err
	}
	if err := h.endDead(ctx); err != nil {
		return err
	}
	w := idWriter{newIDFile(h.dir)}
	defer w.close()
	if err := w.join(); err != nil {
		return err
	}
	if !lockExclusive(w.file) {
		return nil // an earlier keeper has come back
	}
	for _, token := range tokens {
		_ = os.Remove(socketPath(h.dir, token)) // of a dead one
	}
	return os.Remove(w.path)
}
