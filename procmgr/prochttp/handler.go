package prochttp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// The defaults of [HandlerOptions].
const (
	defaultMaxBody    = 1 << 20
	defaultMaxWaiters = 4096
)

const (
	// maxHeader bounds a request's header in bytes, whatever the server's own
	// limit is.
	maxHeader = 32 << 10
	// deadline is how long a request may take to be read and its answer to be
	// written, beside what it waits.
	deadline = 30 * time.Second
)

// HandlerOptions configures [NewHandler]. Of Authorize, Token and Insecure
// exactly one has to be set: whoever may call the handler runs commands.
type HandlerOptions struct {
	// Authorize says for which chats a request may act. An error is answered
	// with 401; its text stays here, in the log. It is asked at every
	// request, and several at a time.
	Authorize func(*http.Request) (Scope, error)
	// Token is the bearer token of a caller that is trusted with every chat
	// and as the host. Never give it to a command. Whoever has few chats to
	// serve, or callers that do not trust each other, sets Authorize.
	Token string
	// Insecure lets everybody in who can reach the handler. It is for a
	// socket of [ListenUnix], and for middleware that has already decided.
	Insecure bool

	// Hosts are the names, without port, that a request's Host may have
	// besides "localhost" and IP addresses. Anything else is refused: a web
	// page can have its own name point to this machine.
	Hosts []string

	// MaxBody bounds a request's body in bytes: 1 MiB by default; a negative
	// number is no limit.
	MaxBody int64
	// MaxWaiters bounds the calls that wait at a time, each of which holds a
	// connection and some 30 KiB: 4,096 by default; a negative number is no
	// limit.
	MaxWaiters int

	// Context ends when the server is about to: waits are then answered at
	// once with what there is, and nothing is started any more. nil never
	// ends. http.Server.Shutdown returns soon after it has ended.
	Context context.Context
	// Logger gets one line for each request, with chat_id and process_id; nil
	// logs nothing. No line has a command, its output, a credential or a
	// query.
	Logger *slog.Logger
}

// A Scope is what a caller may do.
type Scope struct {
	// Chats reports whether the caller may act for a chat; nil is for none.
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
	deadline time.Duration
	log      *slog.Logger
	waits    waits
	signals  signals
}

// NewHandler returns a handler that serves h to [Client]. It fails where the
// options do not say who may use it, or contradict each other.
//
// Its endpoints are at the root of its URL; [http.StripPrefix] moves them. It
// sets the deadlines of its connections itself, so that a server's ReadTimeout
// and WriteTimeout can be short; middleware that wraps the ResponseWriter needs
// an Unwrap method for that, see [http.ResponseController]. The handler is done
// with every request when it returns, except for waits that a client means to
// go on with, which end 2 s later where it does not.
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
	if o.MaxWaiters == 0 {
		o.MaxWaiters = defaultMaxWaiters
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &handler{
		host:     h,
		opts:     o,
		token:    sha256.Sum256([]byte(o.Token)),
		instance: newKey(),
		deadline: deadline,
		log:      log,
		waits:    waits{max: o.MaxWaiters, log: log, held: make(map[waitKey]*heldWait)},
		signals:  signals{calls: make(map[signalKey]*signalCall)},
	}, nil
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
		return xerrors.Errorf("nobody may call it: set Authorize or Token, or Insecure where everybody who can connect may run commands: %w", procmgr.ErrInvalid)
	case ways > 1:
		return xerrors.Errorf("set one of Authorize, Token and Insecure: %w", procmgr.ErrInvalid)
	case strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII-1 }):
		return xerrors.Errorf("Token has a character that a header cannot carry, use printable ASCII without spaces: %w", procmgr.ErrInvalid)
	}
	return nil
}

// A request is one request on its way through the handler.
type request struct {
	*http.Request
	h        *handler
	w        http.ResponseWriter
	chat     string
	endpoint string
	manager  procmgr.Manager
	id       string // of the process, where the request is about one

	status int
	code   code
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	q := &request{Request: r, h: h, w: w}
	defer func() {
		if p := recover(); p != nil {
			h.log.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelError, "panic in a request",
				slog.String("endpoint", q.endpoint), slog.String("panic", fmt.Sprint(p)))
			q.fail(failure{Code: codeInternal, Detail: "the server failed unexpectedly", Result: q.mayHaveBegun()})
		}
		q.logTo(h.log, time.Since(began))
	}()
	header := w.Header()
	header.Set(headerInstance, h.instance)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	q.extend(0)

	if serve := q.route(); serve != nil && q.admit() {
		serve()
	}
}

// route returns what serves a request's endpoint, or answers it.
func (q *request) route() func() {
	path := q.URL.EscapedPath()
	var method string
	var serve func()
	switch {
	case path == pathHealth:
		q.endpoint, method, serve = "health", http.MethodGet, q.health
	case path == pathStart:
		q.endpoint, method, serve = "start", http.MethodPost, q.start
	case path == pathList:
		q.endpoint, method, serve = "list", http.MethodGet, q.list
	case path == pathShell:
		q.endpoint, method, serve = "shell", http.MethodGet, q.shell
	default:
		id, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		id, err := url.PathUnescape(id)
		if err != nil {
			rest = ""
		}
		switch rest {
		case "output":
			q.endpoint, method, serve = "output", http.MethodGet, q.output
		case "signal":
			q.endpoint, method, serve = "signal", http.MethodPost, q.signal
		default:
			q.fail(failure{Code: codeNoEndpoint})
			return nil
		}
		q.id = id
	}
	if q.Method != method && (path != pathHealth || q.Method != http.MethodHead) {
		q.w.Header().Set("Allow", method)
		q.fail(failure{Code: codeMethod})
		return nil
	}
	return serve
}

// health answers whoever asks that the server is there. A start's client learns
// from it which instance it talks to.
func (q *request) health() {
	if q.h.opts.Context.Err() != nil {
		q.fail(failure{Code: codeClosed, Detail: "the server is shutting down"})
		return
	}
	q.answer(http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

// mayHaveBegun is what may be told of a process whose start went wrong.
func (q *request) mayHaveBegun() *procmgr.Output {
	if q.endpoint != "start" || q.id == "" {
		return nil
	}
	return &procmgr.Output{Process: procmgr.Process{ID: q.id, ChatID: q.chat}}
}

// extend gives the connection time for a wait and for the answer after it. The
// read deadline matters too: when it passes, net/http takes the caller for gone.
// A ResponseWriter that hides its connection keeps the server's own deadlines.
func (q *request) extend(wait time.Duration) {
	until := time.Now().Add(wait + q.h.deadline)
	c := http.NewResponseController(q.w)
	_ = c.SetReadDeadline(until)  // best effort
	_ = c.SetWriteDeadline(until) // best effort
}

// fail answers with an error.
func (q *request) fail(f failure) {
	if q.status != 0 {
		return // a panic after the answer
	}
	status, message := f.Code.status()
	f.Message = message
	q.code = f.Code
	switch f.Code {
	case codeUnauthorized:
		q.w.Header().Set("WWW-Authenticate", "Bearer")
	case codeBusy:
		q.w.Header().Set("Retry-After", "1")
	}
	q.answer(status, f)
}

// failWith answers with an error of the host.
func (q *request) failWith(err error, result *procmgr.Output) {
	if errors.Is(err, errBusy) {
		q.fail(failure{Code: codeBusy, Detail: err.Error()})
		return
	}
	f := failureOf(err)
	f.Result = result
	q.fail(f)
}

// answer writes a whole answer.
func (q *request) answer(status int, body any) {
	data, err := encode(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"message":"the call failed","code":"internal"}`)
	}
	q.status = status
	header := q.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(data)))
	q.extend(0)
	q.w.WriteHeader(status)
	_, _ = q.w.Write(data) // the caller asks again
}

// logTo writes the access log.
func (q *request) logTo(log *slog.Logger, took time.Duration) {
	const gone = 499 // a caller that went away
	status, level := q.status, slog.LevelInfo
	switch {
	case q.Context().Err() != nil:
		status = gone
	case q.status == http.StatusUnauthorized, q.status == http.StatusForbidden:
		level = slog.LevelWarn
	case q.status == http.StatusInternalServerError:
		level = slog.LevelError
	}
	ctx := context.WithoutCancel(q.Context())
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", q.Method),
		slog.String("endpoint", q.endpoint),
		slog.Int("status", status),
		slog.Duration("duration", took),
		slog.String("remote", q.RemoteAddr),
		slog.String("chat_id", clip(q.chat)),
		slog.String("process_id", clip(q.id)),
	}
	if q.code != "" {
		attrs = append(attrs, slog.String("code", string(q.code)))
	}
	log.LogAttrs(ctx, level, "request", attrs...)
}

// clip bounds what a caller chose, for a log.
func clip(s string) string { return s[:min(len(s), maxChat)] }
