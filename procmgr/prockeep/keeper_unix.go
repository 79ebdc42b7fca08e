//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/owndir"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// tick is how often a keeper looks whether there is anything to do besides serving.
const tick = time.Second

// A keeper runs the processes of a directory, from its start to its end in one process.
type keeper struct {
	register
	order order
	local *proclocal.Local
	boxes boxes

	ends    sync.Once
	endErr  error
	ended   <-chan struct{} // closed when Stop has its answer
	quit    func()          // closes ended
	burying atomic.Bool     // whether what dead keepers have left is being ended
	orphans orphans
	asked   atomic.Int64 // when a request began or ended, in Unix nanoseconds
}

// newKeeper returns a keeper that listens, and has become the newest one.
func newKeeper(o order, sandboxes makers) (_ *keeper, err error) {
	out := new(limitedLog)
	log := slog.New(slog.NewTextHandler(out, nil)).With(slog.Int("keeper", os.Getpid()))
	k := &keeper{
		register: register{
			dir: o.Dir, token: owndir.Name(), log: log, ids: newIDFile(o.Dir, true), limits: o.limits(),
		},
		order: o,
	}
	ended, quit := context.WithCancel(context.Background())
	k.ended, k.quit = ended.Done(), quit
	options := o.Local.Options
	options.MaxRunning, options.MaxRunningPerChat = -1, -1 // the keeper counts, over all generations
	options.Logger = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn})).With(slog.Int("keeper", os.Getpid()))
	k.boxes.dir, k.boxes.makers, k.boxes.made = o.Dir, sandboxes, make(map[string]proclocal.Sandbox)
	if options.Sandbox, err = k.boxes.get(o.Local.Sandbox); err != nil {
		return nil, err
	}
	if options.Sandbox != nil {
		rules := options.Sandbox.Rules()
		k.rules = &rules
	}
	options.PerChat = func(ctx context.Context, _ string) (*proclocal.ChatOptions, error) {
		from := baseenv.From(ctx)
		if from == nil { // of a Describe
			return nil, nil //nolint:nilnil // it is no error
		}
		box, err := k.boxes.get(from.Sandbox)
		return &proclocal.ChatOptions{Sandbox: box}, err
	}
	if k.local, err = proclocal.New(&options); err != nil {
		return nil, err
	}
	if err := k.orphans.adopt(); err != nil {
		log.Warn("orphans of processes go to another process", slog.String("error", err.Error()))
	}
	recorded := procmgr.WrapHost(k.local, func(chat string, m procmgr.Manager) procmgr.Manager { return recorder{m, &k.register, chat} })
	handler, err := prochttp.NewHandler(recorded, &prochttp.HandlerOptions{
		Insecure: true, Hosts: []string{k.token}, MaxBody: maxBody, MaxWaiters: -1, Logger: options.Logger,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc(pathKeeper, k.serveOwn)
	mux.Handle("/", withOrigin(handler))
	k.web = &http.Server{
		Handler: k.admitted(mux), MaxHeaderBytes: 2 * maxBody,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ConnContext: k.connected,
	}
	if name, err := listenName(k.order.Dir, k.token); err != nil {
		log.Warn("the keeper has no name besides its directory", slog.String("error", err.Error()))
	} else if name != nil {
		go func() { _ = k.web.Serve(name) }() // until the end of the program
	}
	return k, k.do(func(*table) error {
		if err := k.ids.compact(); err != nil {
			return err
		}
		return k.ids.append(line{
			Kind: lineGeneration, Keeper: k.token, At: time.Now().UnixMilli(), Protocol: protocol, PID: os.Getpid(), Identity: o.Identity,
		})
	})
}

// run works until the keeper has ended.
func (k *keeper) run() {
	k.log.Info("keeper serves")
	k.asked.Store(time.Now().UnixNano()) // or a slow start alone would make it idle
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // it doesn't end the keeper, and commands don't inherit that
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	why := k.look()
	for why == "" {
		select {
		case <-k.ended:
			why = "stop"
		case <-ticker.C:
			why = k.look()
		case <-signals:
			why = "signal"
		}
	}
	_ = k.end(why) // it is logged
	// Programs without an answer so far see the sockets close, and read the file.
	k.log.Info("keeper ends")
	_ = os.Remove(socketPath(k.order.Dir, k.token)) // the next keeper doesn't mind it
}

// look does what a keeper does now and then: it makes its directory anew if that was
// removed, writes down what it couldn't write before, and ends what a dead keeper has left.
// It returns why the keeper is of no use any more, or "".
func (k *keeper) look() (why string) {
	var newest, runs, idle bool
	var watched []string
	var limits baseenv.Limits
	err := k.do(func(t *table) error {
		newest, runs, limits, watched = t.newest == k.token, len(t.running(k.token)) > 0, k.limits, t.watched(k.token)
		if runs {
			k.asked.Store(time.Now().UnixNano()) // the exit of what runs counts
		}
		idle = k.ending || newest && k.order.Idle >= 0 && time.Since(time.Unix(0, k.asked.Load())) > k.order.Idle
		k.ending = idle // a request that comes now has not claimed anything so far
		return cmp.Or(k.ids.compactLarge(), k.writeLate())
	})
	if err != nil {
		k.log.Warn("the keeper cannot use its directory", slog.String("error", err.Error()))
		return ""
	}
	dead := func(token string) bool { return token != k.token && isDead(k.order.Dir, token) }
	if slices.ContainsFunc(watched, dead) && !k.burying.Swap(true) {
		go func() { // not waited for: if this keeper ends first, another one does the same
			defer k.burying.Store(false)
			if err := bury(context.Background(), k.order.Dir); err != nil { // the next look tries again
				k.log.Error("not all processes of a dead keeper are gone", slog.String("error", err.Error()))
			}
		}()
	}
	page, err := k.local.List(baseenv.With(context.Background(), &baseenv.Origin{Limits: &limits}), procmgr.ListRequest{Limit: 1})
	switch {
	case err != nil: // it has ended
	case !newest && !runs && page.Total == 0: // it claims no other ID
		why = "another keeper has taken over, and the last results were kept long enough"
	case idle:
		why = "nothing ran and no request came for the idle time"
	}
	k.orphans.reap(k.leaders)
	return why
}

// leaders returns a function that reports whether a process may be the leader of one of
// this keeper's processes: one that runs, or that is being started.
func (k *keeper) leaders() func(pid int) bool {
	k.mu.Lock()
	open := k.ids.running(k.token) // before the list, so that it lacks only what is being started
	k.mu.Unlock()
	page, err := k.local.List(context.Background(), procmgr.ListRequest{Limit: max(len(open), 1)}) // the live ones come first
	listed, running := make(map[idKey]bool), make(map[int]bool)
	for _, p := range page.Processes {
		listed[idKey{p.ChatID, p.ID}] = true
		running[p.PID] = running[p.PID] || p.State == procmgr.Running
	}
	starting := err != nil || slices.ContainsFunc(open, func(c *claim) bool { return !listed[c.key()] })
	return func(pid int) bool { return starting || running[pid] }
}

// admitted notes when there are requests, and refuses those on connections that connected
// has marked.
func (k *keeper) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.asked.Store(time.Now().UnixNano())
		defer func() { k.asked.Store(time.Now().UnixNano()) }()
		if r.Context().Value(strangerKey{}) == nil {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]string{
			"code": "refused", "message": procmgr.ErrRefused.Error(), "detail": "the keeper serves no command that runs in its sandbox, and no other user",
		})
	})
}

// strangerKey marks the connections of other users, who reach the abstract address, and of
// commands in the keeper's sandbox, which could run others outside of it.
type strangerKey struct{}

func (k *keeper) connected(ctx context.Context, c net.Conn) context.Context {
	if isOwn(c) && (!k.boxes.used.Load() || isFree(c)) {
		return ctx
	}
	return context.WithValue(ctx, strangerKey{}, true)
}

// serveOwn serves the keeper's own endpoint.
func (k *keeper) serveOwn(w http.ResponseWriter, r *http.Request) {
	err := k.do(func(*table) error { return nil }) // the caller looks for the file
	switch r.Method {
	case http.MethodPut:
		var limits baseenv.Limits
		if err = cmp.Or(json.NewDecoder(r.Body).Decode(&limits), err); err == nil {
			k.mu.Lock()
			k.limits = limits
			k.mu.Unlock()
		}
	case http.MethodDelete:
		err = k.end("stop")
		defer k.quit()
	}
	status, text := http.StatusOK, ""
	if err != nil {
		status, text = http.StatusInternalServerError, err.Error()
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush() // or the caller sees the end of the keeper
}

// end starts nothing any more and ends every process. Its error names what survived. A
// later call waits for the first one.
func (k *keeper) end(why string) error {
	k.ends.Do(func() {
		k.log.Info("ending", slog.String("why", why))
		k.mu.Lock()
		k.ending = true
		k.mu.Unlock()
		k.endErr = k.local.Close()
		if k.endErr != nil {
			k.log.Warn("not all processes are gone", slog.String("error", k.endErr.Error()))
		}
		if err := k.boxes.close(); err != nil {
			k.log.Warn("a sandbox is not closed", slog.String("error", err.Error()))
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.endErr == nil { // or the next keeper goes on with what survived
			k.writeLater(line{Kind: lineGone, Keeper: k.token, At: time.Now().UnixMilli()})
		}
	})
	return k.endErr
}

// boxes are the sandboxes of a keeper and of its chats, by their JSON.
type boxes struct {
	dir    string // the keeper's, which they hide
	makers makers

	used atomic.Bool // whether commands may run in a sandbox
	mu   sync.Mutex  // guards made; held while one is made
	made map[string]proclocal.Sandbox
}

// get returns the sandbox for its JSON, nil for none.
func (b *boxes) get(data json.RawMessage) (proclocal.Sandbox, error) {
	if data == nil {
		return nil, nil //nolint:nilnil // it is no error
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if box := b.made[string(data)]; box != nil {
		return box, nil
	}
	b.used.Store(true)
	box, err := b.makers.make(data)
	if err != nil {
		return nil, err
	}
	if hider, ok := box.(interface{ Hide(dir string) error }); ok {
		if err := hider.Hide(b.dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, xerrors.Errorf("the sandbox does not hide the keeper's directory: %w", err)
		}
	}
	b.made[string(data)] = box
	return box, nil
}

func (b *boxes) close() (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, box := range b.made {
		if closer, ok := box.(io.Closer); ok {
			err = errors.Join(err, closer.Close())
		}
	}
	return err
}

// A limitedLog writes maxLog bytes to stderr. A log that cannot be written, as on a full
// disk, loses lines and stops nothing.
type limitedLog struct{ written atomic.Int64 }

// Write implements [io.Writer].
func (l *limitedLog) Write(p []byte) (int, error) {
	if l.written.Add(int64(len(p))) <= maxLog {
		_, _ = os.Stderr.Write(p)
	}
	return len(p), nil
}
