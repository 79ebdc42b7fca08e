package prochttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
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

// defaultRetry is the default of ClientOptions.Retry.
const defaultRetry = 10 * time.Second

// ClientOptions configures [NewClient]. The zero value of every field is its
// default.
type ClientOptions struct {
	// Token is the bearer token that the handler wants; "" sends none.
	Token string
	// Inject is called with the context of a call and the header of each of its
	// requests. It may set what a handler's Authorize wants other than a token, or
	// what a call has of its own, such as a trace context. It must be safe for
	// concurrent use.
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
	// The context of Dial ends after 30 s, or when the client is closed. It has no
	// effect on a connection that was made. Set Dial or Transport, not both.
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
// It is safe for concurrent use. Its own calls are the host's: they find the
// processes of every chat, and start processes that belong to none.
//
// If an answer is lost, the client asks again, and still nothing runs twice. If the
// server was restarted since a Start was sent, or never answers it, the error is
// [procmgr.ErrUnknown] and the Output has the process's ID. If the server was restarted
// since a process was started, Output and Signal of that process match both
// [procmgr.ErrNotFound] and [procmgr.ErrUnknown]. Errors match the same sentinels of
// procmgr as the errors of the Host behind the handler. If the handler itself refuses a
// request, because of its credentials or its Host, the error is [procmgr.ErrRefused].
//
// A wait that takes longer than 25 s takes several requests. It is still one
// wait: it does not miss output that is printed between two of them.
type Client struct {
	manager                                      // of the host
	base      string                             // URL without a slash at its end
	header    http.Header                        // of every request
	inject    func(context.Context, http.Header) // adds to it
	transport http.RoundTripper
	own       *http.Transport // the same as transport; nil if ClientOptions gave it
	dialer    *dialer         // of own; nil without Dial
	retry     time.Duration
	slice     time.Duration
	log       *slog.Logger
	seen      instances
	machines  machines
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
	switch {
	case err != nil:
		// The error of url.Parse quotes the URL, which may have credentials.
		return nil, xerrors.Errorf("the URL cannot be read; it begins with http://, https:// or unix://: %w", procmgr.ErrInvalid)
	case u.User != nil:
		return nil, xerrors.Errorf("the URL has credentials, which would end up in logs; set ClientOptions.Token: %w", procmgr.ErrInvalid)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, xerrors.Errorf("the URL has a query or a fragment: %w", procmgr.ErrInvalid)
	case strings.ContainsFunc(o.Token, unicode.IsControl):
		return nil, xerrors.Errorf("Token has a character that no header can carry, most often the end of the line in its file: %w", procmgr.ErrInvalid)
	case o.Dial != nil && o.Transport != nil:
		return nil, xerrors.Errorf("set one of Dial and Transport: %w", procmgr.ErrInvalid)
	}
	c := &Client{
		header:    make(http.Header, 2),
		inject:    o.Inject,
		transport: o.Transport,
		retry:     cmp.Or(o.Retry, defaultRetry),
		slice:     slice,
		log:       cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
	}
	c.manager = manager{c: c}
	c.header.Set(headerProtocol, protocol)
	if o.Token != "" {
		c.header.Set("Authorization", "Bearer "+o.Token)
	}
	if c.transport == nil {
		c.own = newTransport(o.TLS)
		c.transport = c.own
	}
	switch {
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		c.base = u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		c.base = "http://localhost"
		if c.own != nil {
			c.own.Proxy = nil
			c.own.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", u.Path)
			}
		}
	default:
		return nil, xerrors.Errorf("the URL must be http://HOST:PORT, https://HOST:PORT or unix:///PATH: %w", procmgr.ErrInvalid)
	}
	if o.Dial != nil {
		c.base = "http://" + strings.SplitN(c.base, "://", 2)[1]
		c.dialer = newDialer(o.Dial)
		// One connection carries all requests.
		c.own.DialContext, c.own.Proxy, c.own.MaxConnsPerHost, c.own.IdleConnTimeout = c.dialer.connect, nil, 1, 0
		c.own.HTTP2.StrictMaxConcurrentRequests = true
		c.own.Protocols = new(http.Protocols)
		c.own.Protocols.SetUnencryptedHTTP2(true)
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
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pongTime},
	}
}

// Close closes the idle connections of the client's own transport. The processes
// go on, and the client can still be used.
//
// With ClientOptions.Dial, Close ends the connection, and the calls on it fail.
// It waits until a command of [Command] has ended, and not for a Dial that
// ignores its context. A later call fails, and nothing is sent.
func (c *Client) Close() error {
	if c.dialer != nil {
		c.dialer.close()
	}
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// Chat implements [procmgr.Host]. A chat's ID follows the rules of [proclocal.Local].
func (c *Client) Chat(id string) procmgr.Manager {
	return &manager{c: c, chat: id, isChat: true}
}

// A manager is the view of a Client that the host or one chat has.
type manager struct {
	c      *Client
	chat   string
	isChat bool
}

// check fails if the chat has no valid ID: such a chat must not act as the host.
func (m *manager) check() error {
	if m.isChat {
		return check.Chat(m.chat)
	}
	return nil
}

// isOf reports whether p is the process with an ID, in the manager's chat.
func (m *manager) isOf(p procmgr.Process, id string) bool {
	return p.ID == id && (!m.isChat || p.ChatID == m.chat)
}

// errMixedUp is the error of an answer that is meant for another caller.
var errMixedUp = xerrors.New("the answer is about another process or chat: does something in between cache, or change the header " + headerChat + "?")

// about returns an error unless the answer was read, and is about the process
// with an ID.
func (a *answer) about(m *manager, p procmgr.Process, id string) error {
	if a.unread == nil && !m.isOf(p, id) {
		return errMixedUp
	}
	return a.unread
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

// Signal implements [procmgr.Manager]. The signal has a key, and is sent once.
func (m *manager) Signal(ctx context.Context, id string, sig procmgr.Signal) (err error) {
	defer func() { err = wrap("signal", id, err) }()
	forwarded, _ := ctx.Value(forwardedKey{}).(string)
	answer, err := m.c.call(ctx, &call{manager: m, id: id, path: pathSignal, key: cmp.Or(forwarded, newKey()), body: func() (any, time.Duration) {
		return signalBody{id, sig}, signalTime - answerTime
	}})
	return m.explain(id, answer, err)
}

// forwardedKey has the key of a signal that a handler forwards. It stays the same on the
// whole way, so that the signal is sent once even if it is asked for again by another way.
type forwardedKey struct{}
