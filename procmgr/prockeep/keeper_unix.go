//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/owndir"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

const (
	// lastAnswers is how long a keeper that has ended waits until its callers have read
	// their answers.
	lastAnswers = 2 * time.Second
	// compactAt is the size in bytes beyond which a file "ids" is compacted.
	compactAt = 8 << 20
	// gcPercent keeps the heap of a keeper small: what lives in it are a few KiB for each
	// process.
	gcPercent = 40
)

// A keeper runs the processes of a directory, from its start to its end in one process.
type keeper struct {
	*register
	dir     string
	local   *proclocal.Local
	box     proclocal.Sandbox // nil for none
	idle    time.Duration
	web     *http.Server
	name    net.Listener // at an abstract address; nil if there is none
	logFile *keeperLog

	ctx     context.Context // ends when the processes have ended
	cancel  context.CancelFunc
	kick    chan struct{} // for a tick at once
	ends    sync.Once
	endErr  error
	reaping sync.Map // the tokens of dead keepers whose processes are being ended
	workers sync.WaitGroup
	orphans orphans

	active    sync.Map // the connections with a request
	answering atomic.Int64

	compactedTo int64 // the size of the file "ids" after it was compacted; mu guards it

	socketMu sync.Mutex // guards the fields below
	socket   net.Listener
	file     fs.FileInfo // of the socket
	asking   int         // requests that are being served
	asked    time.Time   // when there was the last one
}

// newKeeper returns a keeper that listens, and is not the newest one so far.
func newKeeper(o order, sandboxes makers) (_ *keeper, err error) {
	k := &keeper{
		register: &register{token: owndir.Name(), boot: osproc.BootID(), identity: o.Options.Identity, limits: o.Options.Limits},
		dir:      o.Dir, idle: o.Options.Idle, kick: make(chan struct{}, 1), asked: time.Now(),
		logFile: newKeeperLog(filepath.Join(o.Dir, nameLog)),
	}
	k.log = slog.New(slog.NewTextHandler(k.logFile, nil)).With(slog.Int("keeper", os.Getpid()))
	k.ids = idWriter{newIDFile(o.Dir)}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	debug.SetGCPercent(gcPercent)
	options, err := o.Options.local(sandboxes)
	if err != nil {
		return nil, err
	}
	if k.box = options.Sandbox; k.box != nil {
		if err := hideFrom(k.box, o.Dir); err != nil {
			return nil, err
		}
	}
	options.Logger = k.log
	if err := k.do(func(*table) error { return k.ids.compact() }); err != nil { // the opener holds the lock
		return nil, err
	}
	if k.local, err = proclocal.New(&options); err != nil {
		return nil, err
	}
	if err := k.orphans.adopt(); err != nil {
		k.log.Warn("orphans of processes go to another process", slog.String("error", err.Error()))
	}
	handler, err := prochttp.NewHandler(k.host(k.local), &prochttp.HandlerOptions{
		Insecure: true, MaxBody: maxBody, MaxWaiters: -1, Context: k.ctx, Logger: slog.New(warnings{k.log.Handler()}),
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc(pathKeeper, k.serveOwn)
	mux.Handle("/", withOrigin(handler))
	k.web = &http.Server{
		Handler:     k.counted(mux),
		ErrorLog:    slog.NewLogLogger(k.log.Handler(), slog.LevelWarn),
		ConnContext: k.connected,
		ConnState:   k.changed,
	}
	if err := k.listen(); err != nil {
		return nil, err
	}
	if k.name, err = listenName(k.dir, k.token); err != nil {
		k.log.Warn("the keeper has no name besides its directory", slog.String("error", err.Error()))
	} else if k.name != nil {
		go k.serve(k.name)
	}
	return k, nil
}

// take makes this keeper the newest one.
func (k *keeper) take() error {
	return k.do(func(*table) error {
		return k.ids.append(line{
			Kind: lineGeneration, Keeper: k.token, At: time.Now().UnixMilli(), Protocol: protocol, PID: os.Getpid(), Boot: k.boot,
		})
	})
}

// run works until the keeper has ended.
func (k *keeper) run() {
	k.log.Info("keeper serves", slog.String("token", k.token))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // it doesn't end the keeper
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for k.ctx.Err() == nil {
		select {
		case <-k.ctx.Done():
		case <-signals:
			go func() { _ = k.end("signal") }() // it is logged, and ends ctx
			signals = nil
		case <-ticker.C:
			k.look()
		case <-k.kick:
			k.look()
		}
	}
	k.workers.Wait()
	// The sockets are closed by the end of the program: whoever sees that knows of it.
	for late := time.Now().Add(lastAnswers); k.answering.Load() > 0 && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	k.log.Info("keeper ends")
	_ = os.Remove(socketPath(k.dir, k.token)) // the next keeper doesn't mind it
}

// changed counts the connections with a request that is not answered so far.
func (k *keeper) changed(c net.Conn, state http.ConnState) {
	_, was := k.active.LoadAndDelete(c)
	if state == http.StateActive {
		k.active.Store(c, true)
	}
	k.answering.Add(int64(b2i(state == http.StateActive) - b2i(was)))
}

// listen makes the socket of the keeper in its directory.
func (k *keeper) listen() error {
	path := socketPath(k.dir, k.token)
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) //nolint:forcetypeassert // the network is "unix"
	info, err := os.Lstat(path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		l.Close()
		return err
	}
	k.socketMu.Lock()
	before := k.socket
	k.socket, k.file = l, info
	k.socketMu.Unlock()
	if before != nil {
		before.Close()
	}
	go k.serve(l)
	return nil
}

// serve serves until the listener is closed. Nobody waits for it.
func (k *keeper) serve(l net.Listener) { _ = k.web.Serve(ownUser{l, k.log}) }

// findable makes the directory and what is in it anew if any of it was removed.
func (k *keeper) findable() error {
	if err := makeDir(k.dir); err != nil {
		return err
	}
	k.socketMu.Lock()
	found := isAt(socketPath(k.dir, k.token), k.file)
	k.socketMu.Unlock()
	if !found {
		_ = os.Remove(socketPath(k.dir, k.token)) // a copy
		if err := k.listen(); err != nil {
			return err
		}
		k.log.Warn("the directory was changed, and was made anew")
	}
	return k.do(func(*table) error { return nil })
}

// counted counts requests, and refuses those of commands in the keeper's sandbox.
func (k *keeper) counted(next http.Handler) http.Handler {
	count := func(n int) {
		k.socketMu.Lock()
		defer k.socketMu.Unlock()
		k.asking += n
		k.asked = time.Now()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count(1)
		defer count(-1)
		if r.Context().Value(boxedKey{}) == nil {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]string{
			"code": "refused", "message": procmgr.ErrRefused.Error(), "detail": "the keeper serves no command that runs in its sandbox",
		})
	})
}

// boxedKey marks the requests of a command in the keeper's sandbox. If they were served,
// it could run others outside of it.
type boxedKey struct{}

func (k *keeper) connected(ctx context.Context, c net.Conn) context.Context {
	if k.box != nil && isBoxed(c) {
		k.log.Warn("a command in the sandbox has connected, and is refused")
		return context.WithValue(ctx, boxedKey{}, true)
	}
	return ctx
}

// serveOwn serves the keeper's own endpoint.
func (k *keeper) serveOwn(w http.ResponseWriter, r *http.Request) {
	answer := hello{Token: k.token}
	switch r.Method {
	case http.MethodDelete:
		if err := k.end("stop"); err != nil {
			answer.Error = err.Error()
		}
	case http.MethodPost:
		var asked hello
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&asked); err != nil {
			http.Error(w, "the greeting cannot be read", http.StatusBadRequest)
			return
		}
		if answer.Conflict = k.identity.differs(asked.Identity); answer.Conflict == "" {
			k.local.SetRetain(asked.Limits.Retain)
			k.mu.Lock()
			k.limits = asked.Limits
			k.mu.Unlock()
		}
	}
	k.mu.Lock()
	answer.Ending = k.ending
	k.mu.Unlock()
	if err := k.findable(); err != nil { // whoever greets by the name looks for the directory then
		k.log.Warn("programs may not find the keeper", slog.String("error", err.Error()))
	}
	select {
	case k.kick <- struct{}{}:
	default:
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// end starts nothing any more, ends every process and then the keeper. Its error names
// what survived. A later call waits for the first one.
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
		if box, ok := k.box.(io.Closer); ok {
			if err := box.Close(); err != nil {
				k.log.Warn("the sandbox is not closed", slog.String("error", err.Error()))
			}
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.endErr == nil { // or the next keeper goes on with what survived
			k.writeLater(line{Kind: lineGone, Keeper: k.token, At: time.Now().UnixMilli()})
		}
		k.cancel()
	})
	return k.endErr
}

// maxLog is the limit of keeper.log and of keeper.log.old in bytes.
const maxLog = 512 << 10

// A keeperLog appends to keeper.log, which several keepers share. A log that cannot be
// written, as on a full disk, loses lines and stops nothing.
type keeperLog struct {
	path string
	mu   sync.Mutex // guards file
	file *os.File
}

func newKeeperLog(path string) *keeperLog { return &keeperLog{path: path} }

// Write implements [io.Writer].
func (l *keeperLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		info, err := l.file.Stat()
		if err != nil || !isAt(l.path, info) || info.Size() > maxLog {
			l.file.Close()
			l.file = nil
		}
	}
	if l.file == nil {
		var err error
		if l.file, err = openLog(l.path); err != nil {
			return len(p), nil // lines are lost
		}
		redirectOutput(l.file)
	}
	_, _ = l.file.Write(p) // as above
	return len(p), nil
}

// openLog opens a log to append to it. A full one becomes keeper.log.old.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		_ = os.Rename(path, path+".old") // otherwise it grows a little more
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// These say why a keeper ends.
const (
	endDrained = "another keeper has taken over, and the last results were kept long enough"
	endIdle    = "nothing has run and nobody has asked for the idle time"
)
