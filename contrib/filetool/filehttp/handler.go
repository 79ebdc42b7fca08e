package filehttp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxBody is the limit of a request's body in bytes.
	maxBody = 8 << 20
	// callTime is how long a call may take, because a long file is read to its end, and
	// transferTime how long its request and its answer may take besides.
	callTime     = time.Minute
	transferTime = 30 * time.Second
)

// HandlerOptions configures [NewHandler]. Set exactly one of Authorize, Token and
// Insecure, because a caller of the handler reads and writes files.
type HandlerOptions struct {
	// Authorize returns an error for a request that is not allowed. The handler calls it
	// for each request, from several goroutines at a time.
	Authorize func(*http.Request) error
	// Token is the bearer token of a caller.
	Token string
	// Insecure lets in every caller that can reach the handler, such as on a socket that
	// only its user can open.
	Insecure bool
	// Hosts are the names, without port, that a request's Host may have besides
	// "localhost" and IP addresses. Any other Host is refused, because a web page can let
	// its own name point to this machine.
	Hosts []string
}

// handler serves files. It is safe for concurrent use.
type handler struct {
	opts  HandlerOptions
	token [sha256.Size]byte
}

// NewHandler returns a handler that serves files to [Client]. It fails with
// [procmgr.ErrInvalid] if the options do not say who may call it, or contradict each other.
// Its endpoints are at the root of its URL; [http.StripPrefix] moves them. It sets the
// deadlines of its connections itself.
func NewHandler(files procfile.Files, opts *HandlerOptions) (http.Handler, error) {
	var o HandlerOptions
	if opts != nil {
		o = *opts
	}
	o.Hosts = slices.Clone(o.Hosts)
	ways := 0
	for _, is := range []bool{o.Authorize != nil, o.Token != "", o.Insecure} {
		if is {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, xerrors.Errorf("filehttp: new handler: set one of Authorize, Token and Insecure: %w", procmgr.ErrInvalid)
	case strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, xerrors.Errorf("filehttp: new handler: Token has a character that a header cannot carry, use printable ASCII without spaces: %w", procmgr.ErrInvalid)
	}
	h := &handler{opts: o, token: sha256.Sum256([]byte(o.Token))}
	mux := http.NewServeMux()
	serve(mux, h, pathRead, files.Read)
	serve(mux, h, pathWrite, files.Write)
	serve(mux, h, pathEdit, files.Edit)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(headerFiles, "1")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}), nil
}

// serve adds an endpoint.
func serve[Req, Res any](mux *http.ServeMux, h *handler, path string, do func(context.Context, Req) (Res, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		until := time.Now().Add(callTime + transferTime)
		c := http.NewResponseController(w)
		_, _ = c.SetReadDeadline(until), c.SetWriteDeadline(until) // where a connection has none, the server's own stay
		if !h.admit(w, r) {
			return
		}
		var req Req
		if err := decode(w, r, &req); err != nil {
			fail(w, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), callTime)
		defer cancel()
		res, err := do(ctx, req)
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, http.StatusOK, res)
	})
}

// admit reports whether a request may be served. If not, it answers the request.
func (h *handler) admit(w http.ResponseWriter, r *http.Request) bool {
	switch _, site := r.Header["Sec-Fetch-Site"]; {
	case site || len(r.Header["Origin"]) > 0:
		answer(w, http.StatusForbidden, failure{codeForbidden, "requests of browsers are refused"})
	case !h.named(r.Host):
		answer(w, http.StatusForbidden, failure{codeForbidden, "the request is for another host; the names of this one are set by HandlerOptions.Hosts"})
	case !h.authorized(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		answer(w, http.StatusUnauthorized, failure{codeUnauthorized, "the credentials are missing or wrong"})
	default:
		return true
	}
	return false
}

// named reports whether the Host of a request may be meant for this machine.
func (h *handler) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host) != nil ||
		slices.ContainsFunc(h.opts.Hosts, func(known string) bool { return strings.EqualFold(known, host) })
}

func (h *handler) authorized(r *http.Request) bool {
	if h.opts.Authorize != nil {
		return h.opts.Authorize(r) == nil
	}
	given := r.Header.Values("Authorization")
	if h.opts.Insecure || len(given) != 1 {
		return h.opts.Insecure
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	sum := sha256.Sum256([]byte(token)) // of the same length, so that the time tells nothing
	return subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// decode reads the body of a request.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return xerrors.Errorf("the body must be application/json: %w", procmgr.ErrInvalid)
	}
	err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxBody), into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if long, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return xerrors.Errorf("the request has over %d bytes; write a long file by a command, or change it by edits: %w", long.Limit, procmgr.ErrInvalid)
	}
	return xerrors.Errorf("the body is not the JSON of a request (%v): %w", err, procmgr.ErrInvalid)
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			answer(w, c.status, failure{c.code, procfile.Reason(err)})
			return
		}
	}
	answer(w, http.StatusInternalServerError, failure{codeInternal, procfile.Reason(err)})
}

// answer writes a complete answer.
func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, body, jsontext.AllowInvalidUTF8(true)) // the name of a file may be no UTF-8
}
