package procnats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// serviceName is the name of the micro service that every machine is.
	serviceName = "toolproc"
	// queueGroup is the queue group of the machines with the same name. There should be
	// only one such machine: if there are more, each request still gets to just one of
	// them.
	queueGroup = "toolproc"
	// maxBytes bounds the requests that are being served, in bytes.
	maxBytes = 64 << 20
	// defaultMaxCalls is the default of Options.MaxCalls. It is above the
	// default of HandlerOptions.MaxWaiters, which is the limit that a client
	// understands best.
	defaultMaxCalls = 8192
	// leaveTime is how long Close waits for the answers of calls.
	leaveTime = 5 * time.Second
	// reachTime is how long Serve waits for the server, and for an answer of a
	// machine with its name; tryTime is how long one of its questions may take.
	reachTime = time.Minute
	tryTime   = 2 * time.Second
)

// Options configures [Serve]. The zero value of every field is its default.
type Options struct {
	// Host is the Host behind the handler. With it, [Load] has the number of
	// processes that run, and Ends can be set.
	Host procmgr.Manager
	// Ends publishes the ends of the processes of Host to the JetStream stream
	// TOOLPROC_ENDS, which has to exist, see [EndsConfig]. An end that the server
	// has not acknowledged is published again, also after the connection was
	// lost. What the Host keeps of events and of processes bounds what can be
	// published late, see [proclocal.Local.Events].
	//
	// Close the Host before the Service, so that the ends of its Close are
	// published too.
	Ends bool
	// MaxCalls is the limit of calls at a time: 8,192 by default; a negative
	// number is no limit. Beyond it, callers are told to ask later. The requests
	// of all calls have at most 64 MiB.
	MaxCalls int
	// Logger gets a line for each request that is refused before it reaches the
	// handler; nil logs nothing.
	Logger *slog.Logger
}

// A Service serves the handler of one machine.
type Service struct {
	nc       *nats.Conn
	name     string
	handler  http.Handler
	instance string // of the handler
	opts     Options
	log      *slog.Logger
	micro    micro.Service
	id       string // of micro

	ctx    context.Context // of the calls
	cancel context.CancelFunc
	leave  sync.Once
	done   chan struct{}

	last    context.Context // ends when the service leaves
	endLast context.CancelFunc

	running sync.WaitGroup // the calls
	mu      sync.Mutex     // guards the fields below
	calls   map[callKey]*call
	count   int
	bytes   int64
	leaving bool
}

// A callKey names a call by its ID and the chat of its subject, so that no request can
// name a call of another chat.
type callKey struct{ chat, id string }

// Serve serves a handler of [prochttp.NewHandler] under the name of a machine,
// until ctx ends or Close is called. It returns when callers can reach the
// machine. The name has 1 to 64 letters, digits, - and _, and is not "ends". Another
// name, another handler, and Ends without Host are [procmgr.ErrInvalid]. A server that does not
// let nc's user serve is [procmgr.ErrRefused]. If a machine answers to the name
// already, the error is [procmgr.ErrConflict]. If one has the name and does
// not answer, most likely it has lost its power: Serve then waits up to a minute
// for the server to notice, see ping_interval in README.md.
//
// Who may call is up to the permissions of NATS, see README.md, and the
// handler's HandlerOptions.Insecure is right then. It must not be an endpoint of
// anything else.
//
// nc is the caller's to close. Give it [nats.MaxReconnects] of -1, so that the
// machine comes back by itself.
func Serve(ctx context.Context, nc *nats.Conn, name string, handler http.Handler, opts *Options) (*Service, error) {
	s, err := newService(ctx, nc, name, handler, opts)
	if err == nil {
		if err = s.reach(ctx); err == nil && s.opts.Ends {
			err = s.publish()
		}
		if err != nil {
			_ = s.Close() // the error says more
		}
	}
	if err != nil {
		return nil, xerrors.Errorf("procnats: serve %.80q: %w", name, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	context.AfterFunc(s.ctx, func() { stop() })
	return s, nil
}

func newService(ctx context.Context, nc *nats.Conn, name string, handler http.Handler, opts *Options) (*Service, error) {
	s := &Service{nc: nc, name: name, handler: handler, done: make(chan struct{}), calls: make(map[callKey]*call)}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.MaxCalls == 0 {
		s.opts.MaxCalls = defaultMaxCalls
	}
	if s.log = s.opts.Logger; s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	if s.opts.Ends && s.opts.Host == nil {
		return nil, xerrors.Errorf("Ends is set, and Host is not: %w", procmgr.ErrInvalid)
	}
	s.last, s.endLast = context.WithCancel(context.WithoutCancel(ctx))
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a := newAnswer()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/"+callHealth, nil)
	if err != nil {
		return nil, err
	}
	s.handler.ServeHTTP(a, req)
	if s.instance = a.header.Get(headerInstance); s.instance == "" {
		return nil, xerrors.Errorf("the handler is none of prochttp, its answer has no %s: %w", headerInstance, procmgr.ErrInvalid)
	}
	return s, nil
}

// reach makes the service one that callers can reach.
func (s *Service) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	before := s.nc.LastError()
	if err := s.alone(ctx, before); err != nil {
		return err
	}
	var err error
	s.micro, err = micro.AddService(s.nc, micro.Config{
		Name:         serviceName,
		Version:      "0.0.0", // one is required
		Description:  "runs commands on " + s.name,
		Metadata:     map[string]string{"host": s.name, "instance": s.instance},
		StatsHandler: func(*micro.Endpoint) any { return s.load() },
	})
	if err != nil {
		return err
	}
	s.id = s.micro.Info().ID
	err = s.micro.AddEndpoint("calls", micro.HandlerFunc(s.handle),
		micro.WithEndpointSubject(root+"."+s.name+".*.*"), micro.WithEndpointQueueGroup(queueGroup))
	if err == nil {
		err = s.nc.FlushWithContext(ctx)
	}
	if err == nil {
		err = s.refused(before)
	}
	return err
}

// refused returns an error if the server has refused something since its last error was
// another one.
func (s *Service) refused(before error) error {
	now := s.nc.LastError()
	if now == before || !errors.Is(now, nats.ErrPermissionViolation) { //nolint:errorlint // the same error, and not one like it
		return nil
	}
	return xerrors.Errorf("%v: %w", now, procmgr.ErrRefused)
}

// alone returns when no machine has the name. One that does not answer may have
// lost its power, and its connection is still open on the server.
func (s *Service) alone(ctx context.Context, before error) error {
	for {
		one, cancel := context.WithTimeout(ctx, tryTime)
		_, err := health(one, s.nc, s.name)
		cancel()
		switch refused := s.refused(before); {
		case err == nil:
			return xerrors.Errorf("a machine with this name is there already: %w", procmgr.ErrConflict)
		case errors.Is(err, nats.ErrNoResponders):
			return nil
		case refused != nil:
			return refused
		}
		select {
		case <-time.After(firstPause):
		case <-ctx.Done():
			return xerrors.Errorf("it is not known whether another machine has this name (%v): %w", err, ctx.Err())
		}
	}
}

// publish begins to publish the ends. Close waits for that.
func (s *Service) publish() error {
	js, err := jetstream.New(s.nc)
	if err != nil {
		return err
	}
	p := &publisher{nc: s.nc, js: js, name: s.name, host: s.opts.Host, log: s.log}
	s.running.Go(func() { p.run(s.ctx, s.last) })
	return nil
}

// Close leaves the fleet, so that no new call comes. It waits until the calls in flight
// are answered and the server has every end that has happened so far. After 5 s it
// gives both up. The handler and nc are the caller's.
func (s *Service) Close() error {
	var err error
	s.leave.Do(func() {
		defer close(s.done)
		defer s.cancel()
		s.mu.Lock()
		s.leaving = true
		s.mu.Unlock()
		if s.micro != nil {
			err = s.micro.Stop()
		}
		s.endLast()
		late := time.AfterFunc(leaveTime, s.cancel)
		defer late.Stop()
		s.running.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
		defer cancel()
		if s.nc.IsConnected() {
			_ = s.nc.FlushWithContext(ctx) // the answers that were given
		}
	})
	<-s.done
	if err != nil {
		return xerrors.Errorf("procnats: close %q: %w", s.name, err)
	}
	return nil
}

// Done is closed when the service has left the fleet.
func (s *Service) Done() <-chan struct{} { return s.done }

// link names the service and its connection.
func (s *Service) link() string {
	return s.id + "." + strconv.FormatUint(s.nc.Stats().Reconnects, 10)
}

// handle takes a request. It does not wait for its answer.
func (s *Service) handle(req micro.Request) {
	to, ok := parseSubject(req.Subject())
	if !ok {
		return
	}
	if to.call == callCancel {
		s.mu.Lock()
		c := s.calls[callKey{to.chat, string(req.Data())}]
		s.mu.Unlock()
		if c != nil {
			c.cancel()
		}
		return
	}
	if !mayAnswer(req.Reply()) {
		s.log.LogAttrs(s.ctx, slog.LevelWarn, "request without an inbox", slog.String("subject", req.Subject()))
		return
	}
	r, err := decodeRequest(req.Data())
	if err != nil {
		s.respond(req, invalid(procmgr.Reason(err)).answer(s.instance))
		return
	}
	if f := s.refusal(to, r); f != nil {
		s.log.LogAttrs(s.ctx, slog.LevelWarn, "request refused", slog.String("subject", req.Subject()), slog.String("error", f.Detail))
		s.respond(req, f.answer(s.instance))
		return
	}
	key := callKey{to.chat, r.Header.Get(headerCall)}
	r.Header.Del(headerCall)
	r.RemoteAddr = req.Reply()
	c, f := s.enter(key, int64(len(req.Data())))
	if f != nil {
		s.respond(req, f.answer(s.instance))
		return
	}
	go func() { // Close waits for it
		defer s.exit(c)
		s.serve(req, r.WithContext(c.ctx))
	}()
}

// mayAnswer reports whether an answer may go to a subject. The caller chooses
// it, and the answer is sent with the rights of the machine: it must be no call
// of a machine, and no command to the server.
func mayAnswer(reply string) bool {
	return reply != "" && !strings.HasPrefix(reply, root+".") && !strings.HasPrefix(reply, "$")
}

// refusal returns why a request is not for the chat or the call of its subject,
// or nil. It sets the header of the chat.
func (s *Service) refusal(to subject, r *http.Request) *failure {
	chat, isChat, err := chatOf(to.chat)
	if err != nil {
		return invalid(procmgr.Reason(err))
	}
	named, isNamed, err := headerChatOf(r.Header)
	switch {
	case err != nil:
		return invalid(procmgr.Reason(err))
	case isNamed && (!isChat || named != chat):
		return forbidden("the header " + headerChat + " names another chat than the subject")
	case callOf(r.URL) != to.call:
		return forbidden("the path is of another call than the subject")
	case isChat:
		r.Header.Set(headerChat, url.PathEscape(chat))
	}
	return nil
}

// A call is one that is being served.
type call struct {
	key    callKey
	length int64 // of its request in bytes
	ctx    context.Context
	cancel context.CancelFunc
}

// enter takes a place for a call.
func (s *Service) enter(key callKey, length int64) (*call, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.leaving:
		return nil, leaving()
	case s.opts.MaxCalls >= 0 && s.count >= s.opts.MaxCalls, s.count > 0 && s.bytes+length > maxBytes:
		return nil, busy()
	}
	s.running.Add(1)
	s.count++
	s.bytes += length
	c := &call{key: key, length: length}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	if key.id != "" && s.calls[key] == nil {
		s.calls[key] = c
	}
	return c, nil
}

// exit gives the place of a call back.
func (s *Service) exit(c *call) {
	c.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
	s.bytes -= c.length
	if s.calls[c.key] == c {
		delete(s.calls, c.key)
	}
	s.running.Done()
}

// serve has the handler answer a request.
func (s *Service) serve(req micro.Request, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			// Without an answer, the caller asks whether the machine is there, and
			// waits on.
			s.log.LogAttrs(s.ctx, slog.LevelError, "panic in a request", slog.String("subject", req.Subject()), slog.String("panic", fmt.Sprint(p)))
			broken := newAnswer()
			broken.WriteHeader(http.StatusInternalServerError)
			s.respond(req, broken)
		}
	}()
	a := newAnswer()
	s.handler.ServeHTTP(a, r)
	s.respond(req, a)
}

// respond answers a request. An answer that is too long becomes an error.
func (s *Service) respond(req micro.Request, a *answer) {
	link := s.link()
	data := a.encode(link)
	if limit := s.nc.MaxPayload(); int64(len(data)) > limit {
		data = tooLong(a.content.Bytes(), int64(len(data)), limit).answer(s.instance).encode(link)
	}
	if err := req.Respond(data); err != nil {
		s.log.LogAttrs(s.ctx, slog.LevelWarn, "no answer", slog.String("subject", req.Subject()), slog.String("error", err.Error()))
	}
}
