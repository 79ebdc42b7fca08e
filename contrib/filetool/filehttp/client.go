package filehttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/filetool/internal/callerr"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr"
)

// maxAnswer is the limit of an answer in bytes.
const maxAnswer = 64 << 20

// ClientOptions configures [NewClient]. The zero value of every field is its default.
type ClientOptions struct {
	// Token is the bearer token of the handler.
	Token string
	// TLS is the configuration for https.
	TLS *tls.Config
	// Dial makes a connection over which the far side speaks HTTP/2, such as
	// prochttp.Command to a toolprocd stdio.
	Dial func(ctx context.Context) (net.Conn, error)
}

// Client is the [procfile.Files] of a handler. It is safe for concurrent use. Errors match
// the same sentinels as with the Files behind the handler. If the handler refuses the
// caller, the error is [procmgr.ErrRefused]; if there is none at the URL,
// [errors.ErrUnsupported].
type Client struct {
	base      string // URL without a slash at its end
	token     string
	transport *http.Transport
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
	c := &Client{token: o.Token}
	dial := o.Dial
	u, err := url.Parse(target)
	switch {
	case err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, xerrors.Errorf("filehttp: new client: the URL cannot be read, or has credentials, a query or a fragment: %w", procmgr.ErrInvalid)
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
	c.transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS.Clone(), TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2: true, IdleConnTimeout: 20 * time.Second, DisableCompression: true,
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
	}
	if dial != nil {
		c.transport.Proxy = nil
		c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	}
	if o.Dial != nil {
		c.transport.MaxConnsPerHost = 1 // it carries all requests
		c.transport.Protocols = new(http.Protocols)
		c.transport.Protocols.SetUnencryptedHTTP2(true)
	}
	return c, nil
}

// Close closes the idle connections of the client.
func (c *Client) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

// Read implements [procfile.Files].
func (c *Client) Read(ctx context.Context, req procfile.ReadRequest) (res procfile.ReadResult, err error) {
	_, err = c.call(ctx, pathRead, req, &res)
	return res, callerr.In("filehttp", "read", req.Path, err)
}

// Write implements [procfile.Files]. If its answer is lost, the error is
// [procmgr.ErrUnknown].
func (c *Client) Write(ctx context.Context, req procfile.WriteRequest) (res procfile.WriteResult, err error) {
	err = c.write(ctx, pathWrite, req, &res)
	return res, callerr.In("filehttp", "write", req.Path, err)
}

// Edit implements [procfile.Files] in the same way as Write.
func (c *Client) Edit(ctx context.Context, req procfile.EditRequest) (res procfile.EditResult, err error) {
	err = c.write(ctx, pathEdit, req, &res)
	return res, callerr.In("filehttp", "edit", "", err)
}

func (c *Client) write(ctx context.Context, path string, req, into any) error {
	lost, err := c.call(ctx, path, req, into)
	if lost {
		return xerrors.Errorf("it may have been written: %v: %w", err, procmgr.ErrUnknown)
	}
	return err
}

// call sends a request. lost reports that a handler may have got the request, and that its
// answer is not known.
func (c *Client) call(ctx context.Context, path string, req, into any) (lost bool, err error) {
	body, err := json.Marshal(req)
	if err != nil {
		return false, xerrors.Errorf("the request is not UTF-8, which this connection cannot carry: %w", procmgr.ErrInvalid)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime+transferTime)
	defer cancel()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return false, xerrors.Errorf("the request cannot be made: %w", procmgr.ErrInvalid)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if path == pathRead {
		r.Header["Idempotency-Key"] = nil // net/http then repeats it if an idle connection turns out to be closed
	}
	res, err := c.transport.RoundTrip(r)
	if err != nil {
		return sent.Load(), xerrors.Errorf("the server cannot be reached: %w", err)
	}
	defer res.Body.Close()
	if res.Header.Get(headerFiles) == "" {
		status := fmt.Sprint(res.StatusCode, " ", http.StatusText(res.StatusCode))
		if res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests {
			return true, xerrors.Errorf("something in between answered %s", status)
		}
		return false, xerrors.Errorf("%s answered %s, and serves no files; is the URL right: %w", c.base, status, errors.ErrUnsupported)
	}
	var f failure
	failed := res.StatusCode != http.StatusOK
	if failed {
		into = &f
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // to its end, or the connection isn't used again
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return true, xerrors.Errorf("the answer cannot be read: %w", err)
	}
	if failed {
		err = f.err()
	}
	return false, err
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
