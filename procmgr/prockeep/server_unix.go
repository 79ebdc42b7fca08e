//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"encoding/json"
	"io"
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
	"github.com/toolproc/toolproc/procmgr/internal/lineage"
	"github.com/toolproc/toolproc/procmgr/procfile"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

const (
	// lastAnswers is how long a keeper that has ended everything waits until the
	// answers to its callers are written.
	lastAnswers = 2 * time.Second
	// welcome is how long a program that has just connected may take until it
	// asks for something, beyond the idle time.
	welcome = time.Second
	// quiet is how long nobody has asked when a keeper gives the memory back
	// that it has taken to answer.
	quiet = time.Second
	// gcPercent keeps the heap of a keeper small, and less torn by garbage: what
	// lives in it are a few KiB a process.
	gcPercent = 40
	// farewell is how long a keeper that ends because it was idle still answers
	// programs that had found it alive.
	farewell = time.Second
)

// A server is a keeper at work.
type server struct {
	dir      string
	token    string // no other keeper has it; programs that go on for this one have the same
	listener *socket
	name     *net.UnixListener // of the directory; nil if there is none
	named    context.Context   // ends when another keeper can have the name
	unname   context.CancelFunc
	link     *holder.Link // nil if there is no holder
	keep     *keep
	local    struct {
		*proclocal.Local // another one after an upgrade that failed
		options          proclocal.Options
	}
	handlers atomic.Pointer[handlers] // of the Local
	line     *lineage.Line            // of the handler
	served   *connections
	log      *slog.Logger
	logFile  *keeperLog
	options  passed
	// sandboxes make that of the options.
	sandboxes makers
	idle      time.Duration
	upgrades  []string // their names, the latest last
	tokens    []string // of the keepers that had the journal, this one's last

	looking   sync.Mutex  // held while the directory is made anew
	upgrading sync.Mutex  // held during an upgrade
	breaking  atomic.Bool // nothing is answered any more, so that callers ask the next keeper

	context context.Context // ends when nothing is started any more
	cancel  context.CancelFunc
	waits   context.Context // ends when every process has ended, and with it what waits for one
	endWait context.CancelFunc

	ending  sync.Once
	endErr  error
	ended   chan struct{}  // closed when the processes have ended
	answers sync.RWMutex   // held for reading until a stop or an upgrade has been answered
	others  sync.WaitGroup // of endOthers

	mu        sync.Mutex  // guards the fields below
	asking    int         // requests that are being served
	last      time.Time   // when somebody asked, or a process exited
	trim      *time.Timer // gives memory back
	othersErr error       // what endOthers could not end
}

// endIdle is why a keeper ends for which nobody has asked.
const endIdle = "idle"

// connKey is the key of a connection in the context of its requests.
type connKey struct{}

// newServer returns a server that can serve. held says that a holder has started
// this program; a keeper before it may then hand over to it.
func newServer(o order, sandboxes makers, held bool) (*server, error) {
	file := newKeeperLog(filepath.Join(o.Dir, nameLog), os.Stderr, 1, 2)
	file.goOn() // the one before this keeper may have lost it
	log := slog.New(slog.NewTextHandler(file, nil))
	s := &server{
		dir: o.Dir, log: log, logFile: file, options: o.Options, idle: o.Options.Idle, token: o.Token,
		last:  time.Now().Add(launchTime), // the opener is about to connect
		ended: make(chan struct{}), served: newConnections(), sandboxes: sandboxes,
	}
	s.context, s.cancel = context.WithCancel(context.Background())
	s.waits, s.endWait = context.WithCancel(context.WithoutCancel(s.context))
	s.named, s.unname = context.WithCancel(context.Background())
	heritage := &holder.Heritage{}
	if held {
		var err error
		s.link, heritage, err = holder.Attach(log, func(text string) error { return canFollow(text, o.Options, sandboxes) })
		if err != nil {
			return nil, err
		}
	}
	debug.SetGCPercent(gcPercent)
	s.trim = time.AfterFunc(quiet, debug.FreeOSMemory)
	if err := s.begin(o, heritage); err != nil {
		return nil, err
	}
	return s, nil
}

// handlers serve a Local.
type handlers struct {
	working http.Handler // its calls end with the processes
	ending  http.Handler // for requests that come later: it starts nothing, and waits for nothing
}

// handle makes the handlers of the Local. The working one goes on in a line.
func (s *server) handle(line *lineage.Line) error {
	working, err := s.newHandler(s.waits, line)
	if err != nil {
		return err
	}
	ending, err := s.newHandler(s.context, &lineage.Line{Instance: line.Instance})
	if err != nil {
		return err
	}
	s.line = line
	s.handlers.Store(&handlers{working, ending})
	return nil
}

func (s *server) newHandler(ctx context.Context, line *lineage.Line) (http.Handler, error) {
	opts := procfile.LocalOptions{NoRedact: s.local.options.NoRedact}
	if box := s.local.options.Sandbox; box != nil {
		rules := box.Rules()
		opts.Sandbox = &rules
	}
	files, err := procfile.NewLocal(&opts)
	if err != nil {
		return nil, err
	}
	return prochttp.NewKeeperHandler(s.local.Local, &prochttp.HandlerOptions{
		Files: files, Insecure: true, MaxBody: maxBody, Context: ctx, Logger: slog.New(warnings{s.log.Handler()}),
	}, line)
}

// ServeHTTP serves a request by the Local. At an upgrade it breaks the connection
// in place of an answer, and the caller asks again: the next keeper has what this
// one has done.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.breaking.Load() {
		now := s.handlers.Load()
		if s.context.Err() == nil {
			now.working.ServeHTTP(&breakable{w, s}, r)
		} else { // the end of connections does not cut it off
			now.ending.ServeHTTP(&breakable{w, s}, r.WithContext(context.WithoutCancel(r.Context())))
		}
	}
	if s.breaking.Load() {
		panic(http.ErrAbortHandler)
	}
}

// A breakable writes no answer once the server breaks its connections.
type breakable struct {
	http.ResponseWriter
	s *server
}

// Unwrap is for [http.ResponseController].
func (b *breakable) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (b *breakable) WriteHeader(status int) {
	if !b.s.breaking.Load() {
		b.ResponseWriter.WriteHeader(status)
	}
}

// Write implements [http.ResponseWriter].
func (b *breakable) Write(p []byte) (int, error) {
	if b.s.breaking.Load() {
		return len(p), nil
	}
	return b.ResponseWriter.Write(p)
}

// serve serves until the keeper is to end, and then until it has ended. The
// goroutines of the listener, of signals and of the idle time end before it.
func (s *server) serve() {
	mux := http.NewServeMux()
	mux.HandleFunc(http.MethodGet+" "+pathKeeper, s.tellStatus)
	mux.HandleFunc(http.MethodDelete+" "+pathKeeper, s.stop)
	mux.HandleFunc(http.MethodPost+" "+pathKeeper, s.upgrade)
	mux.Handle("/", s)
	web := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.asked(1)
			defer s.asked(-1)
			if r.Header.Get(headerPassed) != "" {
				s.ServeHTTP(w, r) // it is for no endpoint of the keeper's own
			} else {
				mux.ServeHTTP(w, r)
			}
		}),
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState:   s.served.changed,
	}
	s.log.Info("keeper serves", slog.Int("pid", os.Getpid()))

	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // it does not end the keeper
	var wg sync.WaitGroup
	wg.Go(forgetStartup) // beside the first requests, because it takes 1 to 2 ms
	wg.Go(s.endOnSignal)
	wg.Go(s.endWhenIdle)
	wg.Go(s.endWhenLost)
	if s.name != nil {
		go s.serveName() // nobody waits for it
	}
	_ = web.Serve(s.listener) // it ends when the listener is closed
	<-s.ended
	late, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	s.served.finish(late) // the connections that are left end with the program
	wg.Wait()
	s.log.Info("keeper ends")
	s.answers.Lock()
}

// end starts nothing any more, lets another keeper take the directory, and ends
// every process.
func (s *server) end(why string) error {
	s.ending.Do(func() {
		s.log.Info("ending", slog.String("why", why))
		s.cancel()
		s.upgrading.Lock() // one that is under way has ended, or this program has
		defer s.upgrading.Unlock()
		s.retire()
		if s.link != nil {
			s.link.DropAll(seqSocket)
			s.link.End()
		}
		_ = s.listener.Close() // nobody waits for this
		if why != endLost {    // or what runs could be started once more before it has ended
			s.leaveName()
		}
		s.served.closeLines() // before all other connections: who looks at one now, opens another keeper
		s.endErr = s.local.Close()
		if box, ok := s.local.options.Sandbox.(io.Closer); ok {
			if err := box.Close(); err != nil {
				s.log.Warn("the sandbox is not closed", slog.String("error", err.Error()))
			}
		}
		s.endWait()
		s.retired()
		s.others.Wait()
		if s.endErr == nil {
			s.endErr = s.otherErr()
		}
		if why == endIdle {
			time.Sleep(farewell) // nobody waits for this
		}
		close(s.ended)
	})
	<-s.ended
	return s.endErr
}

// leaveName lets another keeper have the name.
func (s *server) leaveName() {
	if s.name != nil {
		_ = s.name.Close() // it is of no use any more
	}
	s.unname()
}

// endOnSignal ends the keeper at a signal. Another signal changes nothing.
func (s *server) endOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-signals:
		if err := s.end("signal"); err != nil {
			s.log.Warn("not all processes are gone", slog.String("error", err.Error()))
		}
	case <-s.context.Done():
	}
}

// endWhenIdle ends the keeper when nothing has run and nobody has asked for the
// idle time.
func (s *server) endWhenIdle() {
	if s.idle < 0 {
		<-s.context.Done()
		return
	}
	timer := time.NewTimer(s.idle)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.context.Done():
			return
		}
		left := s.idleFor()
		if left <= 0 {
			_ = s.end(endIdle) // nothing runs
			return
		}
		timer.Reset(min(left, max(s.idle, welcome))) // an opener that has come early needs no launchTime
	}
}

// idleFor returns how much of the idle time is left. If nothing is left, it lets
// nothing start any more.
func (s *server) idleFor() time.Duration {
	if page, err := s.local.List(s.context, procmgr.ListRequest{Limit: 1}); err != nil || page.Live > 0 {
		return s.idle // the exit of one that lives counts
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking > 0 {
		return s.idle
	}
	left := s.idle - time.Since(s.last)
	if left <= 0 {
		s.cancel() // under mu: a request either counts above or finds the context ended
	}
	return left
}

// asked counts requests, and notes that the keeper is not idle.
func (s *server) asked(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking += n
	if now := time.Now(); now.After(s.last) {
		s.last = now
	}
	s.trim.Reset(quiet)
}

// greeted notes that a program has connected by a line, and is about to ask.
func (s *server) greeted(line net.Conn) {
	s.served.greeted(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now().Add(welcome)
}

func (s *server) tellStatus(w http.ResponseWriter, r *http.Request) {
	if line, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		defer s.greeted(line)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(status{
		Protocol: protocol, PID: os.Getpid(), Boot: bootID(), Options: s.options, Tokens: s.tokens, Upgrades: s.upgrades,
	})
}

// stop serves the end of the keeper. The answer says which processes survived. It
// takes the connection from the server, so that the end of the process is what
// closes it: the caller waits for that.
func (s *server) stop(w http.ResponseWriter, req *http.Request) {
	s.answers.RLock()
	defer s.answers.RUnlock()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.log.Error("a stop cannot be answered", slog.String("error", err.Error()))
		return
	}
	var r report
	if err := s.end("stop"); err != nil {
		r.Error = err.Error()
	}
	_ = answer(conn, req, r) // a caller that has gone needs no answer
}

// warnings are the lines of a log that are no mere information.
type warnings struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}
