package prockeep

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// A line is a connection to a keeper on which nothing is said after the greeting.
// It ends when the keeper dies. So a look at it tells whether the keeper lives,
// at the cost of one system call.
type line struct {
	conn     *net.UnixConn
	status   status
	running  Options               // of the status
	policy   baseenv.PolicyApplier // that of running
	last     atomic.Pointer[lastBase]
	launched bool // this program has started the keeper just now
}

// A lastBase is what the last start of this program has begun from.
type lastBase struct {
	of *baseenv.Applied
	baseenv.Base
}

// greet connects to a keeper and asks for its status.
func greet(ctx context.Context, socket string) (*line, error) {
	conn, err := dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	l := &line{conn: conn}
	if err := l.ask(ctx); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// ask fills in the status. It refuses a keeper of another user or machine.
func (l *line) ask(ctx context.Context) error {
	if err := checkPeer(l.conn); err != nil {
		return err
	}
	data, err := l.call(ctx, http.MethodGet, greetTime)
	if err != nil {
		return err
	}
	var version struct{ Protocol int }
	if json.Unmarshal(data, &version) != nil || version.Protocol == 0 {
		return xerrors.Errorf("the socket is that of a server which is no keeper: %w", procmgr.ErrInvalid)
	}
	readable := json.Unmarshal(data, &l.status)
	if version.Protocol != protocol {
		return xerrors.Errorf("the keeper (process %d) speaks protocol %d and this program protocol %d; stop it with the program that started it, which ends its processes: %w",
			l.status.PID, version.Protocol, protocol, ErrIncompatible)
	}
	if readable != nil {
		return xerrors.Errorf("the keeper's status cannot be read (%v): %w", readable, ErrIncompatible)
	}
	if own := bootID(); own != "" && l.status.Boot != "" && own != l.status.Boot {
		return xerrors.Errorf("the keeper runs on another machine than this program: %w", procmgr.ErrInvalid)
	}
	l.running, err = l.status.Options.options()
	return err
}

// call sends a request for the keeper itself, and returns the body of its answer.
func (l *line) call(ctx context.Context, method string, limit time.Duration) ([]byte, error) {
	defer l.bound(ctx, limit)()
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+pathKeeper, nil)
	if err == nil {
		err = req.Write(l.conn)
	}
	var res *http.Response
	if err == nil {
		res, err = http.ReadResponse(bufio.NewReader(l.conn), req)
	}
	var body []byte
	if err == nil {
		defer res.Body.Close()
		body, err = io.ReadAll(res.Body)
	}
	switch {
	case err == nil:
		return body, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, xerrors.Errorf("the keeper has not answered for %v: is it stopped?", limit)
	}
	return nil, errEnded
}

// bound gives the connection a deadline until the function that it returns is
// called. An error of a deadline means that the connection is closed, which the
// next use of it tells.
func (l *line) bound(ctx context.Context, limit time.Duration) (done func()) {
	_ = l.conn.SetDeadline(time.Now().Add(limit))
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetDeadline(time.Unix(1, 0)) })
	return func() {
		if stop() {
			_ = l.conn.SetDeadline(time.Time{})
		}
	}
}

// gone waits until the keeper's process has gone, after it has said that it
// ends: that closes the connection.
func (l *line) gone(ctx context.Context) error {
	defer l.bound(ctx, greetTime)()
	_, err := io.Copy(io.Discard, l.conn)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return xerrors.Errorf("the keeper (process %d) has ended its processes, but not itself", l.status.PID)
	}
	return nil
}

// close ends the connection; the next call opens another one.
func (l *line) close() { _ = l.conn.Close() }

// options returns a copy of the options with which the keeper runs.
func (l *line) options() Options {
	o, _ := l.status.Options.options() // it succeeded before
	return o
}

// base returns what a command of this program starts from now, which has values to mask
// besides those of its environment.
func (l *line) base(besides []redact.Value) *baseenv.Base {
	applied := l.policy.Apply(&l.running.Local.Env)
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	last := l.last.Load()
	if last == nil || last.of != applied || last.Dir != dir {
		text := (&baseenv.Base{Env: applied.Env, Withheld: applied.Withheld, Secrets: l.secrets(applied, besides), Dir: dir}).UTF8()
		text.Sum = text.Digest()
		last = &lastBase{applied, *text}
		l.last.Store(last)
	}
	return &last.Base
}

// secrets returns the values that the keeper masks for this program.
func (l *line) secrets(applied *baseenv.Applied, besides []redact.Value) []redact.Value {
	if l.running.Local.NoRedact {
		return nil
	}
	return slices.Concat(besides, applied.Secrets)
}
