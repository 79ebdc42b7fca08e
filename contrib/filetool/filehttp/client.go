package filehttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/filetool/internal/callerr"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// defaultRetry is the default of ClientOptions.Retry.
	defaultRetry = 10 * time.Second
	// firstPause is the pause after the first failure. Each later one is twice as long, up
	// to lastPause.
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
	// maxAnswer is the limit of an answer in bytes.
	maxAnswer = 64 << 20
)

// ClientOptions configures [NewClient]. The zero value of every field is its default.
type ClientOptions struct {
	// Token is the bearer token of the handler.
	Token string
	// TLS is the configuration for https.
	TLS *tls.Config
	// Dial makes a connection over which the far side speaks HTTP/2, such as
	// prochttp.Command to a toolprocd stdio. Set Dial or Transport, not both.
	Dial func(ctx context.Context) (net.Conn, error)
	// Transport carries the requests in place of the client's own.
	Transport http.RoundTripper
	// Retry is how long a call repeats its request while it gets no answer: 10 s by
	// default; a negative number is no retry.
	Retry time.Duration
}

// Client is the [procfile.Files] of a handler. It is safe for concurrent use. Errors match
// the same sentinels as with the Files behind the handler. If the handler refuses the
// caller, the error is [procmgr.ErrRefused]; if there is none at the URL,
// [errors.ErrUnsupported].
type Client struct {
	base      string // URL without a slash at its end
	token     string
	transport http.RoundTripper
	own       *http.Transport // the same; nil if ClientOptions gave it
	retry     time.Duration
	instance  atomic.Pointer[string] // of the handler that has answered last; nil: not known yet
}

var _ procfile.Files = (*Client)(nil)

// NewClient returns a Client of the handler at a URL: http://HOST:PORT/PREFIX, https://…,
// or unix:///PATH for a socket. It makes no connection. opts may be nil. The URL must hold
// no credentials.
func NewClient(target string, opts *ClientOptions) (*Client, error) {
	var o ClientOptions
	if opts != nil {
		o = *opts
	}
	c := &Client{token: o.Token, transport: o.Transport, retry: o.Retry}
	if c.retry == 0 {
		c.retry = defaultRetry
	}
	dial := o.Dial
	u, err := url.Parse(target)
	switch {
	case err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, xerrors.Errorf("filehttp: new client: the URL cannot be read, or has credentials, a query or a fragment: %w", procmgr.ErrInvalid)
	case o.Dial != nil && o.Transport != nil:
		return nil, xerrors.Errorf("filehttp: new client: set one of Dial and Transport: %w", procmgr.ErrInvalid)
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		c.base = u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		c.base = "http://localhost"
		if dial == nil {
			dial = func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", u.Path) }
		}
	default:
		return nil, xerrors.Errorf("filehttp: new client: the URL must be http://HOST:PORT, https://HOST:PORT or unix:///PATH: %w", procmgr.ErrInvalid)
	}
	if c.transport == nil {
		c.own = &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS.Clone(), TLSHandshakeTimeout: 5 * time.Second,
			ForceAttemptHTTP2: true, IdleConnTimeout: 20 * time.Second, DisableCompression: true,
			DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		}
		if dial != nil {
			c.own.Proxy = nil
			c.own.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
		}
		if o.Dial != nil {
			c.own.MaxConnsPerHost = 1 // it carries all requests
			c.own.Protocols = new(http.Protocols)
			c.own.Protocols.SetUnencryptedHTTP2(true)
		}
		c.transport = c.own
	}
	return c, nil
}

// Close closes the idle connections of the client's own transport.
func (c *Client) Close() error {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// Read implements [procfile.Files].
func (c *Client) Read(ctx context.Context, req procfile.ReadRequest) (res procfile.ReadResult, err error) {
	err = c.call(ctx, pathRead, req, &res, false, req.Path)
	return res, callerr.In("filehttp", "read", req.Path, err)
}

// Write implements [procfile.Files]. If the answer is lost, the client asks again with the
// same key, so that nothing is written twice. If no answer comes at all, or the server was
// restarted since, the error is [procmgr.ErrUnknown].
func (c *Client) Write(ctx context.Context, req procfile.WriteRequest) (res procfile.WriteResult, err error) {
	if req.Key == "" {
		req.Key = rand.Text()
	}
	err = c.call(ctx, pathWrite, req, &res, true, req.Path, req.Content, req.Version, req.Key)
	return res, callerr.In("filehttp", "write", req.Path, err)
}

// Edit implements [procfile.Files] in the same way as Write.
func (c *Client) Edit(ctx context.Context, req procfile.EditRequest) (res procfile.EditResult, err error) {
	if req.Key == "" {
		req.Key = rand.Text()
	}
	texts := []string{req.Key}
	for _, f := range req.Files {
		texts = append(texts, f.Path, f.Version)
		for _, e := range f.Edits {
			texts = append(texts, e.Search, e.Replace)
		}
	}
	err = c.call(ctx, pathEdit, req, &res, true, texts...)
	return res, callerr.In("filehttp", "edit", "", err)
}

// call sends a request until it is answered. texts are those in it, which JSON must not
// change.
func (c *Client) call(ctx context.Context, path string, req, into any, writes bool, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return xerrors.Errorf("the request is not UTF-8, which this connection cannot carry: %w", procmgr.ErrInvalid)
		}
	}
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	meant := ""
	if writes { // a handler that is started later does not know the key
		if c.instance.Load() == nil {
			if _, err := c.repeat(ctx, http.MethodGet, pathRead, nil, nil, ""); err != nil {
				return err
			}
		}
		meant = *c.instance.Load()
	}
	lost, err := c.repeat(ctx, http.MethodPost, path, body, into, meant)
	if lost && writes {
		return xerrors.Errorf("it may have been written: %v: %w", err, procmgr.ErrUnknown)
	}
	return err
}

// A lostError is an attempt that got no answer of a handler.
type lostError struct {
	cause error
	sent  bool // a handler may have got it
	final bool // a repeat would fail in the same way
}

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// repeat sends a request until it is answered. lost reports that it was not, and that a
// handler may have got it all the same. From the attempt on that this is true of, the
// request is meant for one instance.
func (c *Client) repeat(ctx context.Context, method, path string, body []byte, into any, meant string) (lost bool, err error) {
	instance := ""
	for pause, giveUp := firstPause, (time.Time{}); ; pause = min(2*pause, lastPause) {
		err := c.attempt(ctx, method, path, body, into, instance)
		failed, ok := errors.AsType[*lostError](err)
		if !ok {
			return false, err
		}
		if failed.sent {
			lost, instance = true, meant
		}
		if giveUp.IsZero() {
			giveUp = time.Now().Add(c.retry)
		}
		if failed.final || c.retry < 0 || time.Now().Add(pause).After(giveUp) {
			return lost, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return lost, ctx.Err()
		}
	}
}

// attempt sends a request once.
func (c *Client) attempt(ctx context.Context, method, path string, body []byte, into any, meant string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime+transferTime)
	defer cancel()
	var sent atomic.Bool
	sent.Store(c.own == nil) // another transport may not tell
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return xerrors.Errorf("the request cannot be made: %w", procmgr.ErrInvalid)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if meant != "" {
		req.Header.Set(headerInstance, meant)
	}
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		_, final := errors.AsType[*tls.CertificateVerificationError](err)
		return &lostError{xerrors.Errorf("the server cannot be reached: %w", err), sent.Load(), final || errors.Is(err, exec.ErrNotFound)}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return &lostError{xerrors.Errorf("the answer was cut: %w", err), true, false}
	}
	instance := res.Header.Get(headerInstance)
	switch status := fmt.Sprint(res.StatusCode, " ", http.StatusText(res.StatusCode)); {
	case instance != "":
	case res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests:
		return &lostError{xerrors.Errorf("something in between answered %s", status), true, false}
	default:
		return &lostError{xerrors.Errorf("%s answered %s, and serves no files; is the URL right: %w", c.base, status, errors.ErrUnsupported), false, true}
	}
	c.instance.Store(&instance)
	if res.StatusCode == http.StatusNoContent {
		return nil
	}
	if res.StatusCode != http.StatusOK {
		var f failure
		if err := json.Unmarshal(data, &f); err != nil {
			return &lostError{xerrors.Errorf("the answer cannot be read: %w", err), true, false}
		}
		return f.err()
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &lostError{xerrors.Errorf("the answer cannot be read: %w", err), true, false}
	}
	return nil
}

// err returns the error that a failure stands for.
func (f failure) err() error {
	for _, c := range codes {
		switch {
		case c.code != f.Code:
		case f.Detail == "" || f.Detail == c.err.Error():
			return c.err
		default:
			return xerrors.Errorf("%s: %w", f.Detail, c.err)
		}
	}
	return xerrors.New(f.Detail)
}
