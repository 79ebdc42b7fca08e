package prochttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// firstPause is about the length of the pause after the first failure.
	// Each later pause is twice as long, up to lastPause.
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
	// progress is the shortest time after which the end of an attempt counts
	// as the cut of a proxy that ends silent connections.
	progress = 3 * time.Second
	// maxAnswer is the limit of an answer in bytes.
	maxAnswer = 256 << 20
	// allAtOnce is the longest answer in bytes whose memory is taken before it is
	// there.
	allAtOnce = 1 << 20
	// askFirst is a length in bytes. Before the client sends a longer body, it
	// asks the server whether it wants that body: if the server closes a
	// connection while the client writes the body, the answer is lost.
	askFirst = 256 << 10
)

// A call is one call of a Manager that goes to the server.
type call struct {
	manager  *manager
	id       string
	method   string
	path     string
	query    string
	body     []byte
	into     any           // points to the struct into which the answer is read; nil: it has nothing
	wait     time.Duration // how long the server may wait before it answers
	instance string        // the instance of the server that is meant; "": any
	key      string        // of a signal
	prepare  func()        // called before each attempt, to wait only for the time that is left; nil: not called

	// mayHaveArrived is set once an attempt got no answer but may have reached
	// the server.
	mayHaveArrived bool
}

// An answer is the server's answer to a call.
type answer struct {
	status   int
	instance string
	protocol int // the version that the server speaks
	waiting  bool
	failure  failure // set if the answer is an error
	unread   error   // why the answer could not be read into what its call has for it
}

// about returns an error unless the answer was read, and is about the process
// with an ID.
func (a *answer) about(m *manager, p procmgr.Process, id string) error {
	if a.unread == nil && !m.isOf(p, id) {
		return errMixedUp
	}
	return a.unread
}

// isOf reports whether p is the process with an ID, in the manager's chat.
func (m *manager) isOf(p procmgr.Process, id string) bool {
	return p.ID == id && (!m.isChat || p.ChatID == m.chat)
}

// explain replaces "not found" by restartedError if the answer comes from
// another server than the one to which the process was sent.
func (m *manager) explain(id string, answer *answer, err error) error {
	if answer != nil && errors.Is(err, procmgr.ErrNotFound) && m.c.seen.elsewhere(m.chat, id, answer.instance) {
		return restartedError{}
	}
	return err
}

// A restartedError is the error of a process whose server was replaced by
// another one. The new server does not have the process, and it is unknown
// whether its command has run.
type restartedError struct{}

func (restartedError) Error() string {
	return "the server was restarted since this process was started, and what has become of it is not known: " + procmgr.ErrNotFound.Error()
}

func (restartedError) Is(target error) bool {
	return target == procmgr.ErrNotFound || target == procmgr.ErrUnknown
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

// call sends a request until it is answered. If the server answers with an
// error, call returns the answer too; an error without an answer comes from the
// connection or from ctx.
func (c *Client) call(ctx context.Context, call *call) (*answer, error) {
	giveUp := time.Now().Add(c.retry)
	pause := firstPause
	for tries := 1; ; tries++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if call.prepare != nil {
			call.prepare()
		}
		began := time.Now()
		answer, err := c.attempt(ctx, call)
		lost, isLost := errors.AsType[*lostError](err)
		var wait time.Duration
		switch {
		case isLost:
			call.mayHaveArrived = call.mayHaveArrived || lost.sent
			switch {
			case !lost.timeout:
			case c.own != nil:
				// The connection has died silently, and most likely the idle
				// connections beside it have died too.
				c.own.CloseIdleConnections()
			case c.dialed != nil:
				c.dialed.distrust()
			}
		case err != nil:
			return nil, err
		case answer.failure.Code == codeBusy:
			err = answer.failure.err()
			wait = time.Second
		case answer.failure.Code != "":
			return answer, answer.failure.err()
		default:
			return answer, nil
		}

		took := time.Since(began)
		if lost != nil && lost.sent && !lost.timeout && !lost.absent &&
			call.prepare != nil && call.wait > 0 && took >= progress {
			// A proxy cut the wait; the server is there. This can happen
			// only until the time of the wait is used up.
			giveUp, pause = time.Now().Add(c.retry), firstPause
		}
		c.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelWarn, "no answer",
			slog.String("path", call.path), slog.Int("attempt", tries), slog.Duration("duration", took),
			slog.String("chat_id", call.manager.chat), slog.String("process_id", call.id), slog.String("error", err.Error()))
		if ctx.Err() != nil {
			return nil, endedBy(ctx, err)
		}
		jittered := pause/2 + rand.N(pause/2+1) + wait
		again := time.Now().Add(jittered).Before(giveUp) || tries == 1 && lost != nil && lost.timeout
		if c.retry < 0 || !again || permanent(err) {
			if answer != nil {
				return answer, err
			}
			return nil, err
		}
		pause = min(2*pause, lastPause)
		select {
		case <-time.After(jittered):
		case <-ctx.Done():
			return nil, endedBy(ctx, err)
		}
	}
}

// endedBy returns the error of a call whose context has ended. If the last
// attempt found no connection, it says why: otherwise nobody would learn that
// the far side refuses every one.
func endedBy(ctx context.Context, last error) error {
	var unsent *unsentError
	switch {
	case !errors.As(last, &unsent):
		return ctx.Err()
	case errors.Is(last, ctx.Err()):
		return last
	}
	return xerrors.Errorf("%v: %w", last, ctx.Err())
}

// permanent reports whether a repeat cannot help.
func permanent(err error) bool {
	var (
		lost      *lostError
		name      *net.DNSError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		hostname  x509.HostnameError
		verify    *tls.CertificateVerificationError
		plain     tls.RecordHeaderError
	)
	return errors.As(err, &lost) && lost.final ||
		errors.As(err, &name) && name.IsNotFound ||
		errors.As(err, &authority) || errors.As(err, &invalid) || errors.As(err, &hostname) ||
		errors.As(err, &verify) || errors.As(err, &plain)
}

// errLate is the cause of an attempt that ended because its time was up.
var errLate = xerrors.New("no answer in time")

// attempt sends a request once. If it returns a *lostError, the caller may try
// again.
func (c *Client) attempt(ctx context.Context, call *call) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, call.wait+answerTime, errLate)
	defer cancel()
	var sending sending
	answer, err := c.exchange(sending.traced(ctx), call)
	if lost, ok := errors.AsType[*lostError](err); ok {
		lost.sent = sending.sent(c)
		if unsent, ok := errors.AsType[*unsentError](lost.cause); ok {
			lost.sent, lost.final = false, unsent.final()
		} else if errors.Is(context.Cause(ctx), errLate) {
			lost.cause = errLate
		}
		lost.timeout = errors.Is(context.Cause(ctx), errLate)
	}
	return answer, err
}

// exchange sends a request, and reads the answer.
func (c *Client) exchange(ctx context.Context, call *call) (*answer, error) {
	req, err := c.request(ctx, call)
	if err != nil {
		return nil, err
	}
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
	if err := body.readAnswer(res); err != nil {
		return nil, &lostError{cause: err}
	}
	a := &answer{
		status:   res.StatusCode,
		instance: res.Header.Get(headerInstance),
		protocol: 1,
		waiting:  res.Header.Get(headerWaiting) != "",
	}
	if version, err := strconv.Atoi(res.Header.Get(headerProtocol)); err == nil {
		a.protocol = version
	}
	if a.instance == "" {
		return nil, a.stranger()
	}
	into := call.into
	switch {
	case a.status != http.StatusOK:
		into = &a.failure
	case into == nil:
		into = &struct{}{}
	}
	err = decode(body.Bytes(), into, false)
	if _, cut := errors.AsType[*json.SyntaxError](err); cut {
		return nil, &lostError{cause: xerrors.New("the answer was cut")}
	}
	c.seen.answered(a.instance)
	switch {
	case a.status != http.StatusOK && (err != nil || a.failure.Code == ""):
		return nil, &lostError{cause: xerrors.Errorf("the server answered %d, and not as the protocol has it", a.status)}
	case err != nil:
		a.unread = xerrors.Errorf("the answer cannot be read: %w", err)
	}
	return a, nil
}

// readAnswer reads the body of an answer.
func (b *buffer) readAnswer(res *http.Response) error {
	if n := res.ContentLength; n > 0 && n <= allAtOnce {
		b.Grow(int(n) + bytes.MinRead) // ReadFrom wants room for the end, too
	}
	_, err := b.ReadFrom(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && b.Len() > maxAnswer {
		return xerrors.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return err
}

// A sending tells whether the server may have seen an attempt.
type sending struct {
	trace      httptrace.ClientTrace
	asked, got atomic.Bool // the transport has asked for a connection, and got one
}

// traced returns a context with which a transport reports its connections.
func (s *sending) traced(ctx context.Context) context.Context {
	s.trace.GetConn = func(string) { s.asked.Store(true) }
	s.trace.GotConn = func(httptrace.GotConnInfo) { s.got.Store(true) }
	return httptrace.WithClientTrace(ctx, &s.trace)
}

// sent reports whether the server may have seen the attempt. A transport that is
// not the client's own may not report its connections. The client then assumes
// that it has sent the request.
func (s *sending) sent(c *Client) bool {
	return s.got.Load() || c.dialed != nil || c.own == nil && !s.asked.Load()
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

// jsonType is the value of a Content-Type.
var jsonType = []string{"application/json"}

// request makes the HTTP request of a call. What it puts into the header is not
// changed by anyone.
func (c *Client) request(ctx context.Context, call *call) (*http.Request, error) {
	target := c.base + call.path
	if call.query != "" {
		target += "?" + call.query
	}
	var body io.Reader
	if call.body != nil {
		body = bytes.NewReader(call.body) // net/http sends it together with the header
	}
	req, err := http.NewRequestWithContext(ctx, call.method, target, body)
	if err != nil {
		return nil, xerrors.New("the request cannot be made")
	}
	maps.Copy(req.Header, c.header)
	if call.body != nil {
		req.Header["Content-Type"] = jsonType
		if len(call.body) > askFirst {
			req.Header.Set("Expect", "100-continue")
		}
	}
	if call.manager.isChat {
		req.Header[headerChat] = call.manager.header
	}
	if call.instance != "" {
		req.Header[headerInstance] = []string{call.instance}
	}
	if call.key != "" {
		req.Header[headerKey] = []string{call.key}
	}
	return req, nil
}
