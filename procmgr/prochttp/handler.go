package prochttp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
)

// The defaults of [HandlerOptions].
const (
	defaultMaxBody    = 1 << 20
	defaultMaxWaiters = 4096
)

// deadline is how long a request may take to be read, and its answer to be
// written, beyond its wait.
const deadline = 30 * time.Second

// HandlerOptions configures [NewHandler]. Set exactly one of Authorize, Token
// and Insecure, because a caller of the handler runs commands.
type HandlerOptions struct {
	// Authorize returns the Scope of the caller. If it returns an error, the
	// answer is 401; the text of the error goes to the log only. The handler
	// calls it anew for each request except a health check, and from several
	// goroutines at a time.
	Authorize func(*http.Request) (Scope, error)
	// Token is the bearer token of a caller that may act for every chat and as
	// the host. Never give it to a command. Set Authorize instead if a caller
	// needs only few chats, or if callers do not trust each other.
	Token string
	// Insecure lets in every caller that can reach the handler. It is for a
	// socket of [ListenUnix], and for middleware that has already checked the
	// caller.
	Insecure bool

	// Hosts are the names, without port, that a request's Host may have
	// besides "localhost" and IP addresses. Any other Host is refused, because
	// a web page can let its own name point to this machine.
	Hosts []string

	// Instance names the server to its clients. It is for a Host whose processes outlive
	// the handler and whose IDs run once over all of its handlers: a client that comes
	// back through another handler of the same Instance goes on. With "", each handler
	// has a name of its own, and what was sent to the one before it is
	// [procmgr.ErrUnknown].
	Instance string

	// MaxBody is the limit of a request's body in bytes: 1 MiB by default; a negative
	// number is no limit.
	MaxBody int64
	// MaxWaiters is the limit of calls that wait at a time: 4,096 by default;
	// a negative number is no limit. Each of them holds a connection and some
	// 30 KiB.
	MaxWaiters int

	// Context must end when the server is about to end. The handler then
	// answers waits at once with the output so far, and starts nothing any
	// more. http.Server.Shutdown returns soon after that. nil is a context
	// that never ends.
	Context context.Context
	// Logger gets one line for each request, with chat_id and process_id; nil
	// logs nothing. No line has a command, its output, a pattern or a
	// credential.
	Logger *slog.Logger
}

// A Scope says what a caller may do.
type Scope struct {
	// Chats reports whether the caller may act for a chat; nil allows none.
	Chats func(chatID string) bool
	// Host lets the caller act as the host itself, without a chat: it sees
	// and ends the processes of all chats.
	Host bool
}

// handler serves a Host.
type handler struct {
	host     procmgr.Host
	opts     HandlerOptions
	token    [sha256.Size]byte // of opts.Token
	instance string
	header   http.Header // of every answer
	deadline time.Duration
	log      *slog.Logger
	mux      *http.ServeMux
	waits    waits
	signals  idempotency.Memo[error]
	began    time.Time
}

// NewHandler returns a handler that serves h to [Client]. It fails if the
// options do not say who may use it, or contradict each other.
//
// Its endpoints are at the root of its URL; [http.StripPrefix] moves them. It
// sets the deadlines of its connections itself, so a server's ReadTimeout and
// WriteTimeout can be short. For that, middleware that wraps the ResponseWriter
// needs an Unwrap method, see [http.ResponseController]. When the handler
// returns, it is done with the request. Only a wait that the client may
// continue goes on; it ends 2 s later if the client does not continue it.
func NewHandler(h procmgr.Host, opts *HandlerOptions) (http.Handler, error) {
	var o HandlerOptions
	if opts != nil {
		o = *opts
	}
	if err := o.check(); err != nil {
		return nil, xerrors.Errorf("prochttp: new handler: %w", err)
	}
	switch {
	case o.MaxBody == 0:
		o.MaxBody = defaultMaxBody
	case o.MaxBody < 0:
		o.MaxBody = math.MaxInt64
	}
	o.MaxWaiters = cmp.Or(o.MaxWaiters, defaultMaxWaiters)
	o.Context = cmp.Or(o.Context, context.Background())
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &handler{
		host:     h,
		opts:     o,
		token:    sha256.Sum256([]byte(o.Token)),
		instance: cmp.Or(o.Instance, newKey()),
		header:   make(http.Header),
		deadline: deadline,
		log:      log,
		mux:      http.NewServeMux(),
		waits:    waits{max: o.MaxWaiters, log: log, held: make(map[waitKey]*heldWait)},
		signals:  idempotency.Memo[error]{Max: maxSignals},
		began:    time.Now(),
	}
	for name, value := range map[string]string{
		headerInstance:           s.instance,
		headerProtocol:           protocol,
		"Cache-Control":          "no-store",
		"Content-Type":           "application/json",
		"X-Content-Type-Options": "nosniff",
	} {
		s.header.Set(name, value)
	}
	s.mux.HandleFunc("/", s.serve("", (*request).noEndpoint))
	for path, call := range map[string]func(*request){
		pathStart:    (*request).start,
		pathOutput:   (*request).output,
		pathInput:    (*request).input,
		pathSignal:   (*request).signal,
		pathList:     (*request).list,
		pathEvents:   (*request).events,
		pathDescribe: (*request).describe,
	} {
		s.mux.HandleFunc("POST "+path, s.serve(path, func(r *request) {
			if r.admit() {
				call(r)
			}
		}))
		s.mux.HandleFunc(path, s.serve(path, func(r *request) { r.wrongMethod(http.MethodPost) }))
	}
	s.mux.HandleFunc("GET "+pathHealth, s.serve(pathHealth, (*request).health))
	s.mux.HandleFunc(pathHealth, s.serve(pathHealth, func(r *request) { r.wrongMethod(http.MethodGet) }))
	return s, nil
}

func (o HandlerOptions) check() error {
	ways := 0
	for _, is := range []bool{o.Authorize != nil, o.Token != "", o.Insecure} {
		if is {
			ways++
		}
	}
	switch {
	case ways == 0:
		return xerrors.Errorf("no caller is let in: set Authorize or Token, or Insecure where everybody who can connect may run commands: %w", procmgr.ErrInvalid)
	case ways > 1:
		return xerrors.Errorf("set one of Authorize, Token and Insecure: %w", procmgr.ErrInvalid)
	case strings.ContainsFunc(o.Token, unprintable):
		return xerrors.Errorf("Token has a character that a header cannot carry, use printable ASCII without spaces: %w", procmgr.ErrInvalid)
	}
	return nil
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if p := req.URL.Path; path.Clean(p) != p || p[0] != '/' {
		h.serve("", (*request).noEndpoint)(w, req) // the mux would redirect, or answer by itself
		return
	}
	h.mux.ServeHTTP(w, req)
}

// A request is one HTTP request in the handler.
type request struct {
	*http.Request
	h        *handler
	w        http.ResponseWriter
	endpoint string // its name; "": none
	chat     string
	manager  procmgr.Manager
	id       string // of the process, if the request is about one

	status int // of the answer; 0: it has none yet
	code   code
}

// serve returns the handler of one endpoint, which call answers.
func (h *handler) serve(path string, call func(*request)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		began := time.Now()
		r := &request{Request: req, h: h, w: w, endpoint: strings.TrimPrefix(path, "/")}
		defer func() {
			if p := recover(); p != nil {
				h.log.LogAttrs(context.WithoutCancel(req.Context()), slog.LevelError, "panic in a request",
					slog.String("endpoint", r.endpoint), slog.String("panic", fmt.Sprint(p)))
				r.fail(failure{Code: codeInternal, Detail: "the server failed unexpectedly", Result: r.mayHaveBegun()})
			}
			r.logTo(h.log, time.Since(began))
		}()
		maps.Copy(w.Header(), h.header)
		r.extend(0)
		call(r)
	}
}

func (r *request) noEndpoint() { r.fail(failure{Code: codeNoEndpoint}) }

func (r *request) wrongMethod(allowed string) {
	r.w.Header().Set("Allow", allowed)
	r.fail(failure{Code: codeMethod})
}

// health answers that the server is there. A client that starts a command
// learns the instance of the server from it.
func (r *request) health() {
	switch {
	case !r.sameProtocol():
	case r.h.opts.Context.Err() != nil:
		r.fail(failure{Code: codeClosed, Detail: "the server is shutting down"})
	default:
		if r.Header.Get(headerUp) != "" {
			r.w.Header().Set(headerUp, time.Since(r.h.began).String())
		}
		r.answer(http.StatusOK, status{"ok"})
	}
}

// mayHaveBegun returns the little that is known of a process whose start went
// wrong, or nil if the request is no start with an ID.
func (r *request) mayHaveBegun() *procmgr.Output {
	if r.endpoint != "start" || r.id == "" {
		return nil
	}
	return &procmgr.Output{Process: procmgr.Process{ID: r.id, ChatID: r.chat}}
}

// extend gives the connection time for a wait and for the answer after it. The
// read deadline matters too: when it passes, net/http assumes that the caller
// is gone. If a ResponseWriter hides its connection, the server's own deadlines
// stay.
func (r *request) extend(wait time.Duration) {
	until := time.Now().Add(wait + r.h.deadline)
	c := http.NewResponseController(r.w)
	_ = c.SetReadDeadline(until)  // best effort
	_ = c.SetWriteDeadline(until) // best effort
}

// fail answers with an error.
func (r *request) fail(f failure) {
	if r.status != 0 {
		return // the handler panicked after the answer
	}
	r.code = f.Code
	switch f.Code {
	case codeUnauthorized:
		r.w.Header().Set("WWW-Authenticate", "Bearer")
	case codeBusy:
		r.w.Header().Set("Retry-After", "1")
	}
	status := f.fill()
	r.answer(status, f)
}

// failWith answers with an error of the host.
func (r *request) failWith(err error) { r.fail(failureOf(err)) }

// finish answers with the output of a process, or with an answer that has it. If there is
// an error, it answers with the error and the output that came with it.
func (r *request) finish(answer any, out *procmgr.Output, written int, err error) {
	p := &out.Process
	switch {
	case p.ID != "" && (err == nil || p.ChatID != "") && !r.mine(p):
	case err == nil:
		r.answer(http.StatusOK, answer)
	default:
		f := failureOf(err)
		if p.ID != "" {
			f.Result, f.Written = out, written
		}
		r.fail(f)
	}
}

// mine reports whether a process belongs to the request's chat. If a Host mixes
// up chats, mine replaces its answer by an error.
func (r *request) mine(p *procmgr.Process) bool {
	if r.chat == "" || p.ChatID == r.chat {
		return true
	}
	r.fail(failure{Code: codeInternal, Detail: "the host answered for another chat", Result: r.mayHaveBegun()})
	return false
}

// answer writes a complete answer.
func (r *request) answer(status int, body any) {
	b := newBuffer()
	if b.enc.Encode(body) != nil {
		status = http.StatusInternalServerError
		b.Reset()
		b.WriteString(`{"code":"internal","detail":"the call failed"}`)
	}
	r.status = status
	r.w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	r.extend(0)
	r.w.WriteHeader(status)
	// A caller that gets no answer asks again. HTTP/2 may still be reading the
	// bytes then.
	if _, err := r.w.Write(b.Bytes()); err == nil {
		b.free()
	}
}

// logTo writes the line of the request to the log.
func (r *request) logTo(log *slog.Logger, took time.Duration) {
	const gone = 499 // a caller that went away
	status, level := r.status, slog.LevelInfo
	switch {
	case r.Context().Err() != nil:
		status = gone
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden:
		level = slog.LevelWarn
	case r.status == http.StatusInternalServerError:
		level = slog.LevelError
	}
	if !log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method),
		slog.String("endpoint", r.endpoint),
		slog.Int("status", status),
		slog.Duration("duration", took),
		slog.String("remote", r.RemoteAddr),
		slog.String("chat_id", clip(r.chat)),
		slog.String("process_id", clip(r.id)),
	}
	if r.code != "" {
		attrs = append(attrs, slog.String("code", string(r.code)))
	}
	log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

// clip limits the length of a caller's text in a log.
func clip(s string) string { return s[:min(len(s), check.MaxChat)] }
