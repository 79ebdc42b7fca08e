package prochttp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// admit reports whether a request may be served. If not, it answers the request.
// It does not read the body.
func (r *request) admit() bool {
	if !r.sameProtocol() {
		return false
	}
	if detail := r.foreign(); detail != "" {
		r.fail(failure{Code: codeForbidden, Detail: detail})
		return false
	}
	scope, err := r.h.scope(r.Request)
	if err != nil {
		r.h.log.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelWarn, "request not authorized",
			slog.String("endpoint", r.endpoint), slog.String("remote", r.RemoteAddr), slog.String("error", err.Error()))
		r.fail(failure{Code: codeUnauthorized})
		return false
	}
	chat, ok, err := decodeChat(r.Header)
	switch {
	case err != nil:
		r.failWith(err)
		return false
	case ok && (scope.Chats == nil || !scope.Chats(chat)):
		r.fail(failure{Code: codeForbidden, Detail: "this caller may not act for this chat"})
		return false
	case !ok && !scope.Host:
		r.fail(failure{Code: codeForbidden, Detail: "this caller may not act without a chat: name one in the header " + headerChat})
		return false
	}
	r.manager = r.h.host
	if ok {
		r.chat, r.manager = chat, r.h.host.Chat(chat)
	}
	return true
}

// sameProtocol reports whether the caller speaks this version of the protocol. If
// not, it answers the request.
func (r *request) sameProtocol() bool {
	err := otherProtocol(r.Header, "client", "server")
	if err != nil {
		r.failWith(err)
	}
	return err == nil
}

// foreign returns why a request looks like a browser's, or "". A page of any
// site can make its visitor's browser send requests to this machine. The browser
// then says where they come from, or uses the site's own name as Host.
func (r *request) foreign() string {
	for _, name := range []string{"Origin", "Sec-Fetch-Site"} {
		if _, ok := r.Header[name]; ok {
			return "requests of browsers are refused: the header " + name + " is set"
		}
	}
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	known := func(host string) bool { return strings.EqualFold(host, name) }
	if known("localhost") || net.ParseIP(name) != nil || slices.ContainsFunc(r.h.opts.Hosts, known) {
		return ""
	}
	return "the request is for another host; the names of this one are set by HandlerOptions.Hosts"
}

// errToken is the error of a caller without the token.
var errToken = xerrors.New("the bearer token is missing or wrong")

// scope returns what a caller may do.
func (h *handler) scope(r *http.Request) (Scope, error) {
	if h.opts.Authorize != nil {
		return h.opts.Authorize(r)
	}
	everything := Scope{Chats: func(string) bool { return true }, Host: true}
	if h.opts.Insecure {
		return everything, nil
	}
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return Scope{}, errToken
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	sum := sha256.Sum256([]byte(token)) // so that the time of the comparison does not even tell the length
	if subtle.ConstantTimeCompare(sum[:], h.token[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return Scope{}, errToken
	}
	return everything, nil
}

// body reads a request's JSON body into v. It reports false if it has answered
// the request with an error.
func (r *request) body(v any) bool {
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			r.fail(failure{Code: codeMediaType})
			return false
		}
	}
	data := newBuffer()
	defer data.free()
	var err error
	// A body is not read at all if its Content-Length is too long.
	tooLong := r.ContentLength > r.h.opts.MaxBody
	if !tooLong {
		_, err = data.ReadFrom(http.MaxBytesReader(r.w, r.Body, r.h.opts.MaxBody))
		_, tooLong = errors.AsType[*http.MaxBytesError](err)
	}
	switch {
	case tooLong:
		r.fail(failure{Code: codeTooLarge})
		return false
	case err != nil:
		r.failWith(xerrors.Errorf("the body could not be read (%v): %w", err, procmgr.ErrInvalid))
		return false
	}
	if err := decodeRequest(data.Bytes(), v); err != nil {
		r.failWith(err)
		return false
	}
	return true
}
