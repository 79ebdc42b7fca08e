package prochttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// slice is how long one request of a client waits. Proxies cut connections
	// that are silent for 60 s, and some already after 30 s.
	slice = 25 * time.Second
	// answerTime is how long a request may take beyond its wait.
	answerTime = 10 * time.Second
	// firstPause is about the length of the pause after the first failure.
	// Each later pause is twice as long, up to lastPause.
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
	// maxAnswer is the limit of an answer in bytes.
	maxAnswer = 256 << 20
	// askFirst is a length in bytes. Before the client sends a longer body, it
	// asks the server whether it wants that body: if the server closes a
	// connection while the client writes the body, the answer is lost.
	askFirst = 256 << 10
)

// A call is one call of a Manager that goes to the server.
type call struct {
	manager *manager
	id      string // of the process, for the log
	path    string
	// body returns the body of the next attempt, and how long the server may wait
	// before it answers. nil is a health check.
	body     func() (body any, wait time.Duration)
	into     any           // points to the struct into which the answer is read; nil: it has nothing
	instance string        // the instance of the server that is meant; "": any
	key      string        // of a signal
	up       time.Duration // see headerUp; 0: not known
	retry    retry
}

// once is the body of a call that does not wait.
func once(body any) func() (any, time.Duration) {
	return func() (any, time.Duration) { return body, 0 }
}

// An answer is the server's answer to a call.
type answer struct {
	status   int
	instance string
	waiting  bool
	up       time.Duration // see headerUp
	failure  failure       // set if the answer is an error
	unread   error         // why the answer could not be read into what its call has for it
}

// A lostError is an attempt that got no answer.
type lostError struct {
	cause   error
	sent    bool // the server may have seen it
	absent  bool // a proxy says that the attempt reached no server
	timeout bool // the attempt took too long
	final   bool // a repeat would fail in the same way
}

func (e *lostError) Error() string { return "the server cannot be reached: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// Unsent marks the error of a ClientOptions.Transport that has sent nothing of a
// request: a start that fails with it is not [procmgr.ErrUnknown]. If the error
// matches [procmgr.ErrInvalid] or [procmgr.ErrRefused], the client does not try
// again.
//
// Without the mark, the client believes that the request was sent, unless the
// transport reports connections to the [net/http/httptrace.ClientTrace] of the
// request, and has reported none.
func Unsent(err error) error { return &unsentError{err} }

// An unsentError is the error of a request that was not sent.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// A retry says what follows the attempts of one call. The package doc draws it.
type retry struct {
	phase  phase
	tries  int
	giveUp time.Time // when the last attempt may begin
	pause  time.Duration
}

// A phase is what is known of a call.
type phase int

const (
	unsent phase = iota // no attempt without an answer can have reached the server
	unsure              // one may have
)

// failed notes an attempt that began at a time, asked for a wait, and got no answer
// or one that says busy. again reports whether another attempt follows after a pause.
func (r *retry) failed(err error, began time.Time, wait, limit time.Duration) (pause time.Duration, again bool) {
	now := time.Now()
	lost, ok := errors.AsType[*lostError](err)
	if ok && lost.sent {
		r.phase = unsure
	}
	// The time begins with a failure, because a connection may be found dead only
	// after as long as that. It begins anew if something cut a wait, which can
	// happen only until the time of the wait is used up.
	cut := ok && lost.sent && !lost.timeout && !lost.absent && wait > 0 && now.Sub(began) >= firstPause
	if r.tries++; r.tries == 1 || cut {
		r.giveUp, r.pause = now.Add(limit), firstPause
	}
	pause = r.pause/2 + rand.N(r.pause/2+1)
	if !ok {
		pause += time.Second // as the answer says
	}
	r.pause = min(2*r.pause, lastPause)
	return pause, limit >= 0 && !now.Add(pause).After(r.giveUp) && !permanent(err)
}

// permanent reports whether a repeat cannot help.
func permanent(err error) bool {
	if lost, ok := errors.AsType[*lostError](err); ok && lost.final {
		return true
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return true
	}
	if unsent, ok := errors.AsType[*unsentError](err); ok {
		for _, final := range []error{exec.ErrNotFound, fs.ErrNotExist, fs.ErrPermission, procmgr.ErrInvalid, procmgr.ErrRefused, errBanner, errClientClosed} {
			if errors.Is(unsent, final) {
				return true
			}
		}
	}
	return is[*tls.CertificateVerificationError](err) || is[tls.RecordHeaderError](err)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// call sends a request until it is answered. If the server answers with an
// error, call returns the answer too; an error without an answer comes from the
// connection or from ctx.
func (c *Client) call(ctx context.Context, call *call) (*answer, error) {
	for call.retry.tries = 0; ; {
		if err := cmp.Or(ctx.Err(), call.manager.check()); err != nil {
			return nil, err
		}
		began := time.Now()
		answer, wait, err := c.attempt(ctx, call)
		switch lost, isLost := errors.AsType[*lostError](err); {
		case isLost && lost.timeout && c.own != nil && c.dialer == nil:
			// The connection has died silently, and most likely the idle
			// connections beside it have died too.
			c.own.CloseIdleConnections()
		case isLost:
		case err != nil:
			return nil, err
		case answer.failure.Code == "":
			return answer, nil
		case answer.failure.Code == codeBusy:
			err = answer.failure.err()
		default:
			return answer, answer.failure.err()
		}
		pause, again := call.retry.failed(err, began, wait, c.retry)
		level := slog.LevelWarn
		if errors.Is(ctx.Err(), context.Canceled) {
			level = slog.LevelDebug // the caller has gone, and nothing is wrong, whatever became of the connection
		}
		c.log.LogAttrs(context.WithoutCancel(ctx), level, "no answer",
			slog.String("path", call.path), slog.Int("attempt", call.retry.tries), slog.Duration("duration", time.Since(began)),
			slog.String("chat_id", call.manager.chat), slog.String("process_id", call.id), slog.String("error", err.Error()))
		switch {
		case ctx.Err() != nil:
			return nil, endedBy(ctx, err)
		case !again:
			return answer, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, endedBy(ctx, err)
		}
	}
}

// endedBy returns the error of a call whose context has ended. If the last attempt
// found no connection, the error includes the reason. Without it, a far side that
// refuses every connection would look like a plain timeout.
func endedBy(ctx context.Context, last error) error {
	switch {
	case !is[*unsentError](last):
		return ctx.Err()
	case errors.Is(last, ctx.Err()):
		return last
	}
	return xerrors.Errorf("%v: %w", last, ctx.Err())
}

// errLate is the cause of an attempt that ended because its time was up.
var errLate = xerrors.New("no answer in time")

// attempt sends a request once, which the server may let wait for a time. A
// *lostError is an attempt without an answer.
func (c *Client) attempt(ctx context.Context, call *call) (_ *answer, wait time.Duration, err error) {
	method, body := http.MethodGet, []byte(nil)
	if call.body != nil {
		var v any
		method = http.MethodPost
		v, wait = call.body()
		if body, err = encode(v); err != nil {
			return nil, 0, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait+answerTime, errLate)
	defer cancel()
	var asked, got atomic.Bool // the transport has asked for a connection, and got one
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	})
	req, err := http.NewRequestWithContext(traced, method, c.base+call.path, bytes.NewReader(body)) // net/http sends a body of this type together with the header
	if err != nil {
		return nil, 0, xerrors.New("the request cannot be made")
	}
	c.setHeader(req, call, len(body))
	a, err := c.exchange(req, call.into)
	if lost, ok := errors.AsType[*lostError](err); ok {
		// A transport that is not the client's own may not report its
		// connections, and has then most likely sent the request.
		lost.sent = !is[*unsentError](err) && (got.Load() || c.own == nil && !asked.Load())
		if lost.timeout = errors.Is(context.Cause(ctx), errLate); lost.timeout && lost.sent {
			lost.cause = errLate
		}
		if !lost.sent && !is[*unsentError](err) && ctx.Err() != nil && c.dialer != nil {
			lost.cause = &unsentError{xerrors.Errorf("%s: %w", c.dialer.status(), context.Cause(ctx))}
		}
	}
	return a, wait, err
}

// setHeader sets the header of a request. What it puts there is not changed by
// anyone.
func (c *Client) setHeader(req *http.Request, call *call, length int) {
	maps.Copy(req.Header, c.header)
	if call.instance == "" {
		// net/http may repeat the attempt by itself. This header allows that, and is
		// not sent if it is empty. A start must not be repeated so: an attempt unknown
		// to the client may have run the command on another server.
		req.Header[headerKey] = []string{}
	}
	if call.body != nil {
		req.Header["Content-Type"] = jsonType
	}
	if length > askFirst {
		req.Header.Set("Expect", "100-continue")
	}
	if call.manager.isChat {
		req.Header[headerChat] = []string{url.PathEscape(call.manager.chat)}
	}
	if call.instance != "" {
		req.Header[headerInstance] = []string{call.instance}
	}
	if call.key != "" {
		req.Header[headerKey] = []string{call.key}
	}
	if call.path == pathHealth || call.up > 0 {
		req.Header[headerUp] = []string{call.up.String()}
	}
	if c.inject != nil {
		c.inject(req.Context(), req.Header)
	}
}

// jsonType is the value of a Content-Type.
var jsonType = []string{"application/json"}

// exchange sends a request, and reads the answer.
func (c *Client) exchange(req *http.Request, into any) (*answer, error) {
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err // url.Error adds only the URL
		}
		return nil, &lostError{cause: err}
	}
	defer res.Body.Close()
	body := newBuffer()
	defer body.free()
	if _, err := body.ReadFrom(io.LimitReader(res.Body, maxAnswer+1)); err != nil {
		return nil, &lostError{cause: err}
	}
	if body.Len() > maxAnswer {
		return nil, &lostError{cause: xerrors.Errorf("the answer has more than %d bytes", maxAnswer)}
	}
	a := &answer{
		status:   res.StatusCode,
		instance: res.Header.Get(headerInstance),
		waiting:  res.Header.Get(headerWaiting) != "",
	}
	if a.instance == "" {
		return nil, a.stranger()
	}
	a.up, _ = time.ParseDuration(res.Header.Get(headerUp))
	ok := a.status == http.StatusOK
	if err := otherProtocol(res.Header, "server", "client"); err != nil {
		if ok {
			return nil, &lostError{cause: err, final: true} // it has done something
		}
		return nil, err
	}
	if !ok {
		into = &a.failure
	}
	err = decodeAnswer(body.Bytes(), cmp.Or(into, any(&struct{}{})))
	if is[*jsontext.SyntacticError](err) {
		return nil, &lostError{cause: xerrors.New("the answer was cut")}
	}
	c.seen.answered(a.instance)
	switch {
	case !ok && (err != nil || a.failure.Code == ""):
		return nil, &lostError{cause: xerrors.Errorf("the server answered %d, and not as the protocol has it", a.status)}
	case err != nil:
		a.unread = xerrors.Errorf("the answer cannot be read: %w", err)
	}
	return a, nil
}

// stranger returns the error of an answer that does not come from a handler, or
// that something between client and handler has changed.
func (a *answer) stranger() error {
	status := strconv.Itoa(a.status) + " " + http.StatusText(a.status)
	switch {
	case a.status >= 500 || a.status == http.StatusTooManyRequests || a.status == http.StatusRequestTimeout:
		return &lostError{
			cause:  xerrors.Errorf("something in between answered %s", status),
			absent: a.status == http.StatusBadGateway || a.status == http.StatusServiceUnavailable,
		}
	case a.status < 300:
		// A handler may have answered, and a proxy may have dropped its headers.
		return &lostError{
			cause: xerrors.Errorf("the answer has no header %s: is the URL right, and does everything in between pass headers on?", headerInstance),
			final: true,
		}
	case a.status < 400:
		return xerrors.Errorf("something answered %s: redirects are not followed, use the URL that they lead to", status)
	}
	return xerrors.Errorf("something answered %s that is no toolproc server: is the URL right?", status)
}
