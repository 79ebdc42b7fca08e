package prockeep

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// Handler returns a handler that passes requests on to the keeper, for
// [prochttp.ServeStdio] or a server. Its clients see the instance of the keeper.
// So a client whose connection was cut, and that comes back through another
// program which has opened the same directory, still meets the server that it
// knows, and what it asks again runs once. To a handler that
// [prochttp.NewHandler] makes of a Keeper, the same client would be ErrUnknown.
//
// The clients have the files of this machine too, see prochttp.HandlerOptions.Files,
// as this user may read and write them. A relative path begins in this program's current
// directory, and the values of this program's secrets are masked.
//
// A command that a client starts gets the environment of this program, as far as
// the keeper's policy lets it through, and runs in this program's current
// directory if the request names none, as if this program had called Start. The
// client cannot set either of them.
//
// The handler lets in everybody who reaches it, for every chat and as the host.
// Serve it only to callers who may run commands as this user.
//
// If the keeper was upgraded or, on Linux, killed, the clients go on with the next
// one. A start that was under way when it was killed is [procmgr.ErrUnknown], and
// is asked for again with the same ID. If the keeper has ended by itself, or by
// Stop, the next request starts another one, and the clients find that the server
// was restarted. If that fails, the answer is 502, and Options.Logger gets the
// reason.
func (k *Keeper) Handler() http.Handler {
	socket := k.opener.socket()
	to := &passing{k: k, on: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 16,
	}}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "localhost"
			r.Out.Header.Set(headerPassed, "true")
		},
		Transport: to,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				k.opener.log.LogAttrs(r.Context(), slog.LevelWarn, "a request was not passed on to the keeper", slog.String("error", err.Error()))
			}
			w.WriteHeader(http.StatusBadGateway)
		},
		ErrorLog: slog.NewLogLogger(k.opener.log.Handler(), slog.LevelWarn),
	}
}

// A passing is the transport of Keeper.Handler.
type passing struct {
	k  *Keeper
	on *http.Transport

	mu   sync.Mutex // guards last
	last *line      // to the keeper of the connections that are idle
}

// RoundTrip implements [http.RoundTripper].
func (p *passing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPost || !slices.Contains(basePaths, req.URL.Path) || req.Body == nil || req.ContentLength > maxBody {
		if _, err := p.ready(req.Context()); err != nil {
			return nil, err
		}
		return p.on.RoundTrip(req)
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1)) // the keeper refuses one that is longer
	if err != nil {
		return nil, xerrors.Errorf("read the request: %w", err)
	}
	for wait := new(patience); ; {
		now, err := p.ready(req.Context())
		if err != nil {
			return nil, err
		}
		base := now.base(p.k.redact)
		res, err := p.start(req, body, base)
		if err == nil && base.Sum != "" && isNoBase(res) {
			whole := *base
			whole.Sum = ""
			res, err = p.start(req, body, &whole)
		}
		switch {
		case err != nil && !unheard(err), err == nil && !isEnding(res):
			return res, err
		case err == nil:
			now.close() // this keeper is about to end and has started nothing; the next one will
		}
		if !wait.again(req.Context()) {
			return res, err
		}
	}
}

// start passes a start on, with what its command starts from.
func (p *passing) start(req *http.Request, body []byte, base *baseenv.Base) (*http.Response, error) {
	data, err := withBase(body, base)
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return p.on.RoundTrip(out)
}

// ready returns the connection to a keeper that lives. The idle connections to an
// earlier one are closed.
func (p *passing) ready(ctx context.Context) (*line, error) {
	now, err := p.k.ready(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != now {
		p.on.CloseIdleConnections()
		p.last = now
	}
	return now, nil
}

// withBase adds what a command starts from to the body of a start: an environment,
// or its sum. Nothing else of the body changes. If the client has sent such fields
// itself, they are there twice then, or both kinds are there. The keeper refuses
// either.
func withBase(body []byte, base *baseenv.Base) ([]byte, error) {
	const space = " \t\r\n"
	rest := bytes.TrimLeft(body, space)
	if len(rest) == 0 || rest[0] != '{' {
		return body, nil // the keeper says what is wrong with it
	}
	type bySum struct {
		Sum string `json:"base_sum"`
		Dir string `json:"base_dir"`
	}
	type whole struct { // no field is left out, or the client could set it
		Env      []string       `json:"base_env"`
		Withheld []string       `json:"base_withheld"`
		Secrets  []redact.Value `json:"base_secrets"`
		Dir      string         `json:"base_dir"`
	}
	var fields any = bySum{base.Sum, base.Dir}
	if base.Sum == "" {
		fields = whole{base.Env, base.Withheld, base.Secrets, base.Dir}
	}
	added, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	added = added[:len(added)-1]
	if rest = bytes.TrimLeft(rest[1:], space); !bytes.HasPrefix(rest, []byte{'}'}) {
		added = append(added, ',')
	}
	return append(added, rest...), nil
}

// isEnding reports whether a keeper has answered a start that it ends and has
// started nothing. The answer can still be read.
func isEnding(res *http.Response) bool {
	failed, ok := failure(res, http.StatusServiceUnavailable)
	return ok && failed.Result == nil
}

// isNoBase reports whether a keeper has answered a start that it does not know the
// environment of its sum, and has started nothing. The answer can still be read.
func isNoBase(res *http.Response) bool {
	_, ok := failure(res, http.StatusPreconditionFailed) // no other error has this status
	return ok
}

// A failed is what counts here in a keeper's answer that is an error.
type failed struct{ Result json.RawMessage }

// failure reads a keeper's answer of a status. It reports false if it is none. The
// answer can still be read.
func failure(res *http.Response, status int) (f failed, ok bool) {
	if res.StatusCode != status || res.Header.Get(headerInstance) == "" {
		return failed{}, false
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	return f, err == nil && json.Unmarshal(body, &f) == nil
}
