package procnats

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

const (
	// askTime is after how much silence a call asks whether the machine is
	// there, and healthTime is how long the answer may take.
	askTime    = 10 * time.Second
	healthTime = 5 * time.Second
	// refusalTime is after how much silence a call first looks whether the
	// server has refused its request.
	refusalTime = 20 * time.Millisecond
)

// Transport returns a transport of [prochttp.ClientOptions] whose requests go to
// the machine with a name. The URL of the client is any, such as
// http://localhost, and has no path.
//
// If there is no such machine, or nc is not connected, or the server does not
// let this user call, or a request is longer than the server's max_payload, then
// nothing was sent, and the client knows: such a start is never
// [procmgr.ErrUnknown]. A request that the server refuses, or that is too long,
// is not repeated; its error matches [procmgr.ErrRefused] or
// [procmgr.ErrInvalid].
//
// A call that waits asks after 10 s of silence whether the machine is there, so
// that one that has died is found before the time of the wait is up. If a call's
// context ends, the machine is told.
//
// nc is the caller's to close. It needs [nats.ReconnectBufSize] of -1: otherwise
// it keeps what is published while the connection is broken, and sends it later,
// and each call is [procmgr.ErrInvalid]. It should have an inbox prefix of its
// own, see [nats.CustomInboxPrefix], and [nats.MaxReconnects] of -1.
func Transport(nc *nats.Conn, name string) http.RoundTripper {
	return newTransport(&cuts{nc: nc}, name)
}

// newTransport returns a transport that shares its listener with others.
func newTransport(c *cuts, name string) *transport {
	return &transport{nc: c.nc, cuts: c, name: name, err: cmp.Or(checkName(name), checkBuffer(c.nc)), askTime: askTime}
}

// AskAfter sets after how much silence a call asks whether the machine is there.
// It is for the tests, which are in another module.
func (t *transport) AskAfter(silence time.Duration) { t.askTime = silence }

// checkBuffer refuses a connection that keeps what it cannot send.
func checkBuffer(nc *nats.Conn) error {
	if nc.Opts.ReconnectBufSize >= 0 {
		return xerrors.Errorf("the connection to NATS would send a call later if it is broken, so make it with the option nats.ReconnectBufSize(-1): %w", procmgr.ErrInvalid)
	}
	return nil
}

type transport struct {
	nc      *nats.Conn
	cuts    *cuts
	name    string
	err     error // of the name
	askTime time.Duration

	link atomic.Value // a string: the link of the newest answer; nil before the first one

	mu  sync.Mutex // guards the field below
	ask *probe     // the newest question whether the machine is there
}

// A probe is one question for all calls that wait.
type probe struct {
	began time.Time
	done  chan struct{} // closed once the fields below are set
	link  string
	err   error
}

var (
	errNoMachine  = xerrors.New("no machine has this name, or it is not connected")
	errCut        = xerrors.New("the connection to NATS was lost")
	errSilent     = xerrors.New("the machine does not answer any more")
	errNotAllowed = fmt.Errorf("%w", procmgr.ErrRefused) // by the NATS server, so the request was not sent
	errRelinked   = xerrors.New("the machine has lost its connection since, and the request may be lost with it")
)

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	defer t.cuts.enter(cancel)() // before the look at the connection, so that no cut is missed
	to, data, id, err := t.request(req)
	if err != nil {
		return nil, prochttp.Unsent(err)
	}
	go t.newWatch(to, cancel).run(ctx) // it ends with ctx
	msg, err := t.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: to.String(), Data: data})
	if err != nil {
		return nil, t.failed(ctx, to, id, err)
	}
	res, err := decodeAnswer(msg.Data, req)
	if err != nil {
		return nil, err
	}
	t.link.Store(res.Header.Get(headerLink))
	return res, nil
}

// request returns the message for a request. If it fails, nothing was sent.
func (t *transport) request(req *http.Request) (to subject, data []byte, id string, err error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if t.err != nil {
		return to, nil, "", t.err
	}
	if to, err = subjectOf(t.name, req); err != nil {
		return to, nil, "", err
	}
	id = rand.Text()
	if data, err = encodeRequest(req, id); err != nil {
		return to, nil, "", err
	}
	if t.nc.Status() != nats.CONNECTED {
		return to, nil, "", t.unconnected()
	}
	if limit := t.nc.MaxPayload(); int64(len(data)) > limit {
		return to, nil, "", xerrors.Errorf("the request has %d bytes, and the NATS server lets messages have %d (max_payload): %w", len(data), limit, procmgr.ErrInvalid)
	}
	return to, data, id, nil
}

func (t *transport) unconnected() error {
	return xerrors.Errorf("there is no connection to NATS: it is %s", strings.ToLower(t.nc.Status().String()))
}

// failed returns the error of a request that was not answered.
func (t *transport) failed(ctx context.Context, to subject, id string, err error) error {
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return prochttp.Unsent(xerrors.Errorf("%q: %w", t.name, errNoMachine))
	case errors.Is(err, nats.ErrMaxPayload):
		return prochttp.Unsent(err)
	case errors.Is(err, nats.ErrReconnectBufExceeded): // it was lost after request has looked
		return prochttp.Unsent(t.unconnected())
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errNotAllowed):
		return prochttp.Unsent(cause)
	case cause != nil:
		err = cause
	}
	if ctx.Err() != nil && to.call != callHealth {
		to.call = callCancel
		_ = t.nc.Publish(to.String(), []byte(id)) // a machine that does not hear it waits for a slice at most
	}
	return err
}

// A watch ends a call that gets no answer any more.
type watch struct {
	t       *transport
	subject string
	before  error  // the last error of the connection before the request was sent
	link    string // on which the request was sent; "" if it is not known
	cancel  context.CancelCauseFunc
}

// newWatch returns a watch over a call that is about to be sent.
func (t *transport) newWatch(to subject, cancel context.CancelCauseFunc) *watch {
	link, _ := t.link.Load().(string)
	return &watch{t: t, subject: to.String(), before: t.nc.LastError(), link: link, cancel: cancel}
}

// run looks after the call until ctx ends. RoundTrip does not wait for it.
func (w *watch) run(ctx context.Context) {
	began, next := time.Now(), refusalTime
	timer := time.NewTimer(next)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		err := w.refused()
		if err == nil && time.Since(began) >= w.t.askTime {
			err = w.lost(ctx)
		}
		if err != nil {
			w.cancel(err)
			return
		}
		next = min(8*next, w.t.askTime)
		timer.Reset(next)
	}
}

// refused returns an error if the server has refused the request since it was
// sent. The server does not say to which message an error belongs, but it names
// the subject.
func (w *watch) refused() error {
	err := w.t.nc.LastError()
	if err == nil || err == w.before || !errors.Is(err, nats.ErrPermissionViolation) || //nolint:errorlint // the same error, and not one like it
		!strings.Contains(strings.ToLower(err.Error()), `publish to "`+strings.ToLower(w.subject)+`"`) {
		return nil
	}
	return xerrors.Errorf("the NATS server does not let this user call %s: %w", w.subject, errNotAllowed)
}

// lost asks whether the machine is there, and returns an error if the request or
// its answer is most likely lost.
func (w *watch) lost(ctx context.Context) error {
	link, err := w.t.present(ctx)
	switch {
	case err != nil:
		return err
	case w.link == "":
		w.link = link
	case link != w.link:
		return errRelinked
	}
	return nil
}

// present asks whether the machine is there. Calls that ask at the same time share
// one question.
func (t *transport) present(ctx context.Context) (link string, err error) {
	t.mu.Lock()
	a := t.ask
	if a == nil || time.Since(a.began) > t.askTime/2 {
		a = &probe{began: time.Now(), done: make(chan struct{})}
		t.ask = a
		go a.run(t) // it ends in healthTime
	}
	t.mu.Unlock()
	select {
	case <-a.done:
		return a.link, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// run asks. It sets the fields of a.
func (a *probe) run(t *transport) {
	defer close(a.done)
	ctx, cancel := context.WithTimeout(context.Background(), healthTime)
	defer cancel()
	a.link, a.err = health(ctx, t.nc, t.name)
	switch {
	case errors.Is(a.err, nats.ErrNoResponders):
		a.err = xerrors.Errorf("%q: %w", t.name, errNoMachine)
	case a.err != nil:
		a.err = errSilent
	default:
		t.link.Store(a.link)
	}
}

// health asks a machine whether it is there, and returns its link.
func health(ctx context.Context, nc *nats.Conn, name string) (link string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/"+callHealth, nil)
	if err != nil {
		return "", err
	}
	data, err := encodeRequest(req, rand.Text())
	if err != nil {
		return "", err
	}
	msg, err := nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject{name, noChat, callHealth}.String(), Data: data})
	if err != nil {
		return "", err
	}
	res, err := decodeAnswer(msg.Data, req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	return res.Header.Get(headerLink), nil
}
