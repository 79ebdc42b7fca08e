package prochttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

const (
	// slice is how long one request of a client waits. Proxies cut connections
	// that are silent for 60 s, and some already after 30 s.
	slice = 25 * time.Second
	// answerTime is how long a request may take beyond its wait.
	answerTime = 10 * time.Second
	// defaultRetry is the default of ClientOptions.Retry.
	defaultRetry = 10 * time.Second
)

// ClientOptions configures [NewClient]. The zero value of every field is its
// default.
type ClientOptions struct {
	// Token is the bearer token that the handler wants; "" sends none.
	Token string
	// Header is added to every request, for a handler whose Authorize wants
	// something other than a token.
	Header http.Header
	// Inject is called with the context of a call and the header of each of its
	// requests, for what a call has of its own, such as a trace context. It must be
	// safe for concurrent use.
	Inject func(ctx context.Context, header http.Header)
	// TLS configures the connections of an https URL, for example with your
	// own certificate authority or a client certificate.
	TLS *tls.Config
	// Transport carries the requests instead of the client's own transport.
	// TLS and the socket of a unix URL are then up to Transport. If it has sent
	// nothing, it says so by [Unsent].
	Transport http.RoundTripper
	// Dial makes the connection to the handler, for example with [Command]. The
	// URL is then any, such as http://localhost, and TLS has no effect. One
	// connection carries all calls, also when the first ones come at once. It
	// speaks HTTP/2 from its first byte on (prior knowledge, RFC 9113, section
	// 3.3); [ServeStdio] does, and so does an http.Server whose Protocols have
	// UnencryptedHTTP2. If the connection has failed, the next request dials
	// again. Each side asks every 10 s of silence whether the other is there,
	// and gives up after 5 s without an answer.
	//
	// The context of Dial ends after 30 s, when the client is closed, or when
	// no call waits for the connection any more. It has no effect on a
	// connection that was made. Set Dial or Transport, not both.
	Dial func(ctx context.Context) (net.Conn, error)
	// Retry is how long a call repeats its request while it gets no answer,
	// counted from the failure of its first attempt: 10 s by default; a negative
	// number is no retry. The end of the call's context ends the retries too.
	Retry time.Duration
	// Logger gets a line for each failed attempt, which is a warning unless the caller
	// has canceled the call; nil logs nothing.
	Logger *slog.Logger
}

// Client is a [procmgr.Host] whose processes run on the machine of the handler.
// It is safe for concurrent use.
//
// If an answer is lost, the client asks again, and still nothing runs twice. If
// the server was restarted since a Start was sent, or never answers it, the
// error is [procmgr.ErrUnknown] and the Output has the process's ID. If the
// server was restarted since a process was started, Output and Signal of that
// process match both [procmgr.ErrNotFound] and [procmgr.ErrUnknown]. Errors
// match the sentinels of procmgr as those of the Host behind the handler do. If
// the handler itself refuses a request, for its credentials or its Host, the
// error is [procmgr.ErrRefused].
//
// A wait that takes longer than 25 s takes several requests. It is still one
// wait: it does not miss output that is printed between two of them.
type Client struct {
	base      string                             // URL without a slash at its end
	header    http.Header                        // of every request
	inject    func(context.Context, http.Header) // adds to it what a call has of its own
	transport http.RoundTripper
	own       *http.Transport // the same as transport; nil if ClientOptions gave it, or Dial
	dialed    *dialed         // the same as transport; nil without Dial
	retry     time.Duration
	slice     time.Duration
	log       *slog.Logger
	seen      instances
	machines  machines
	all       manager // the host's view of all chats
}

var _ procmgr.Host = (*Client)(nil)

// NewClient returns a Client of the handler at a URL: http://HOST:PORT/PREFIX,
// https://…, or unix:///PATH for a socket. It makes no connection. If the URL
// cannot be used, or no header can carry the Token, the error is
// [procmgr.ErrInvalid]. The URL must hold no credentials, because URLs end up
// in logs.
func NewClient(target string, opts *ClientOptions) (*Client, error) {
	c, err := newClient(target, opts)
	if err != nil {
		return nil, xerrors.Errorf("prochttp: new client: %w", err)
	}
	return c, nil
}

func newClient(target string, opts *ClientOptions) (*Client, error) {
	var o ClientOptions
	if opts != nil {
		o = *opts
	}
	u, err := url.Parse(target)
	if err != nil {
		// The error of url.Parse quotes the URL, which may have credentials.
		return nil, xerrors.Errorf("the URL cannot be read; it begins with http://, https:// or unix://: %w", procmgr.ErrInvalid)
	}
	if strings.ContainsFunc(o.Token, unicode.IsControl) {
		return nil, xerrors.Errorf("Token has a character that no header can carry, most often the end of the line in its file: %w", procmgr.ErrInvalid)
	}
	c := &Client{
		header:    make(http.Header, len(o.Header)+2),
		inject:    o.Inject,
		transport: o.Transport,
		retry:     o.Retry,
		slice:     slice,
		log:       o.Logger,
	}
	maps.Copy(c.header, o.Header.Clone())
	c.header.Set(headerProtocol, protocol)
	if o.Token != "" {
		c.header.Set("Authorization", "Bearer "+o.Token)
	}
	if c.retry == 0 {
		c.retry = defaultRetry
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Dial != nil && c.transport != nil:
		return nil, xerrors.Errorf("set one of Dial and Transport: %w", procmgr.ErrInvalid)
	case o.Dial != nil:
		c.dialed = &dialed{dial: o.Dial}
		c.transport = c.dialed
	case c.transport == nil:
		c.own = newTransport(o.TLS)
		c.transport = c.own
	}
	c.all = manager{c: c}
	switch {
	case u.User != nil:
		return nil, xerrors.Errorf("the URL has credentials, which would end up in logs; set ClientOptions.Token: %w", procmgr.ErrInvalid)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, xerrors.Errorf("the URL has a query or a fragment: %w", procmgr.ErrInvalid)
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		c.base = u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		c.base = "http://localhost"
		if c.own != nil {
			path := u.Path
			c.own.Proxy = nil
			c.own.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", path)
			}
		}
	default:
		return nil, xerrors.Errorf("the URL must be http://HOST:PORT, https://HOST:PORT or unix:///PATH: %w", procmgr.ErrInvalid)
	}
	return c, nil
}

// newTransport returns a transport that keeps few idle connections, and those
// not for long: proxies cut idle connections without telling the client.
func newTransport(config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:       config.Clone(),
		TLSHandshakeTimeout:   5 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       20 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
		// A connection that died silently must not swallow the next attempts.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// Close closes the idle connections of the client's own transport. The processes
// go on, and the client can still be used.
//
// With ClientOptions.Dial, Close ends the connection, and the calls on it fail.
// It waits until a command of [Command] has ended, and not for a Dial that
// ignores its context. A later call fails, and nothing is sent.
func (c *Client) Close() error {
	if c.dialed != nil {
		c.dialed.close()
	}
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// Start implements [procmgr.Manager]. The process belongs to no chat.
func (c *Client) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	return c.all.Start(ctx, req)
}

// Output implements [procmgr.Manager]. It finds the processes of every chat.
func (c *Client) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return c.all.Output(ctx, id, req)
}

// Signal implements [procmgr.Manager]. It finds the processes of every chat.
func (c *Client) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	return c.all.Signal(ctx, id, sig)
}

// Chat implements [procmgr.Host]. The rules for a chat's ID are those of
// [proclocal.Local].
func (c *Client) Chat(id string) procmgr.Manager { return c.chat(id) }

func (c *Client) chat(id string) *manager {
	return &manager{c: c, chat: id, isChat: true, header: []string{encodeChat(id)}}
}

// A manager is the view of a Client that the host or one chat has.
type manager struct {
	c      *Client
	chat   string
	isChat bool
	header []string // the value of headerChat
}

// check fails if the chat has no valid ID: such a chat must not act as the host.
func (m *manager) check() error {
	if m.isChat {
		return check.Chat(m.chat)
	}
	return nil
}

func (m *manager) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	out, err := m.start(ctx, req)
	return out, wrap("start", req.ID, err)
}

func (m *manager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, err := m.output(ctx, id, req)
	return out, wrap("output", id, err)
}

func (m *manager) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	return wrap("signal", id, m.signal(ctx, id, sig))
}

func (m *manager) signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if err := m.check(); err != nil {
		return err
	}
	if id == "" || len(id) > maxPath {
		return xerrors.Errorf("the process ID has %d bytes: %w", len(id), procmgr.ErrInvalid)
	}
	body, err := encode(signalBody{Signal: sig})
	if err != nil {
		return err
	}
	forwarded, _ := ctx.Value(forwardedKey{}).(string)
	c := &call{
		manager: m,
		id:      id,
		method:  http.MethodPost,
		path:    processPath(id, "signal"),
		body:    body,
		wait:    signalTime - answerTime,
		key:     cmp.Or(forwarded, newKey()),
	}
	c.first = m.c.seen.now()
	answer, err := m.c.call(ctx, c)
	return m.explain(id, answer, err)
}

// forwardedKey has the key of a signal that a handler forwards. It stays the same on the
// whole way, so that the signal is sent once even if it is asked for again by another way.
type forwardedKey struct{}

// errMixedUp is the error of an answer that is meant for another caller.
var errMixedUp = xerrors.New("the answer is about another process or chat: does something in between cache, or change the header " + headerChat + "?")

// processPath returns the path of an endpoint of one process.
func processPath(id, endpoint string) string {
	escaped := url.PathEscape(id)
	if strings.Trim(id, ".") == "" {
		escaped = strings.ReplaceAll(id, ".", "%2E") // otherwise "." and ".." change the path
	}
	return "/" + escaped + "/" + endpoint
}
