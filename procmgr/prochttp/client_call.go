package prochttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
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
	// as the cut of a proxy that ends silent connections. After a shorter one,
	// the client asks whether a server is there.
	progress = 3 * time.Second
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
	first    string        // the instance that is meant once an attempt may have arrived, because no other one knows of that
	key      string        // of a signal
	prepare  func()        // called before each attempt, to wait only for the time that is left; nil: not called

	// mayHaveArrived is set once an attempt got no answer but may have reached
	// the server. From then on, the call goes on even if nobody listens.
	mayHaveArrived bool
}

// An answer is the server's answer to a call.
type answer struct {
	status   int
	instance string
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
	var giveUp time.Time
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
		if tries == 1 {
			giveUp = time.Now().Add(c.retry) // a connection may be found dead only after as long as that
		}
		level := slog.LevelWarn
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			level = slog.LevelDebug // the caller has gone, and nothing is wrong
		}
		c.log.LogAttrs(context.WithoutCancel(ctx), level, "no answer",
			slog.String("path", call.path), slog.Int("attempt", tries), slog.Duration("duration", took),
			slog.String("chat_id", call.manager.chat), slog.String("process_id", call.id), slog.String("error", err.Error()))
		if ctx.Err() == nil && c.retry >= 0 && call.waited(lost, took) && (took >= progress || c.answers(ctx)) {
			// Something cut the wait, and the server is there, or one that
			// followed. This can happen only until the time of the wait is
			// used up.
			giveUp, pause = time.Now().Add(c.retry), firstPause
		}
		if ctx.Err() != nil {
			return nil, endedBy(ctx, err)
		}
		jittered := pause/2 + rand.N(pause/2+1) + wait
		late := time.Now().Add(jittered).After(giveUp)
		if c.retry < 0 || late || permanent(err) {
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

// waited reports whether an attempt was lost while it waited. One that is cut at
// once has not waited.
func (c *call) waited(lost *lostError, took time.Duration) bool {
	return lost != nil && lost.sent && !lost.timeout && !lost.absent &&
		c.prepare != nil && c.wait > 0 && took >= firstPause
}

// answers reports whether a server answers, now or after some attempts.
func (c *Client) answers(ctx context.Context) bool {
	answer, _ := c.call(ctx, &call{manager: &c.all, method: http.MethodGet, path: pathHealth, mayHaveArrived: true})
	return answer != nil
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
