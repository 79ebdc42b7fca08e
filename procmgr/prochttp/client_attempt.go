package prochttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"

	"golang.org/x/xerrors"
)

const (
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
		lost.timeout = errors.Is(context.Cause(ctx), errLate)
		if unsent, ok := errors.AsType[*unsentError](lost.cause); ok {
			lost.sent, lost.final = false, unsent.final()
		} else if lost.timeout {
			lost.cause = errLate
		}
	}
	return answer, err
}

// A sending tells whether the server may have seen an attempt.
type sending struct {
	asked, got atomic.Bool // the transport has asked for a connection, and got one
}

// traced returns a context with which a transport reports its connections.
func (s *sending) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { s.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { s.got.Store(true) },
	})
}

// sent reports whether the server may have seen the attempt. A transport that is not
// the client's own may not report its connections. The client then assumes that it
// has sent the request.
func (s *sending) sent(c *Client) bool {
	return s.got.Load() || c.dialed != nil || c.own == nil && !s.asked.Load()
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
		waiting:  res.Header.Get(headerWaiting) != "",
	}
	if a.instance == "" {
		return nil, a.stranger()
	}
	if err := otherProtocol(res.Header, "server", "client"); err != nil {
		if a.status == http.StatusOK {
			return nil, &lostError{cause: err, final: true} // it has done something
		}
		return nil, err
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
	meant := call.instance
	if meant == "" && call.mayHaveArrived {
		meant = call.first
	}
	if meant != "" {
		req.Header[headerInstance] = []string{meant}
	}
	if call.key != "" {
		req.Header[headerKey] = []string{call.key}
	}
	if c.inject != nil {
		c.inject(ctx, req.Header)
	}
	return req, nil
}
