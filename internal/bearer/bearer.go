// Package bearer decides who may talk to a handler: by a bearer token, and by the
// name under which a request has found this machine.
package bearer

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// A Token is the hash of a token.
type Token [sha256.Size]byte

// Hash returns the hash of a token.
func Hash(token string) Token { return sha256.Sum256([]byte(token)) }

// Fits reports whether a header can carry a token: printable ASCII without spaces.
func Fits(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII-1 })
}

// In reports whether a header has the token, once. The tokens are compared by their
// hashes, so that the time does not even tell their length.
func (t Token) In(h http.Header) bool {
	given := h.Values("Authorization")
	if len(given) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	sum := Hash(token)
	return subtle.ConstantTimeCompare(sum[:], t[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// Names reports whether the Host of a request may be meant for this machine: it is
// "localhost", an IP address, or one of some names, with or without a port. A web
// page can let its own name point to this machine, and the browser then sends that.
func Names(host string, names []string) bool {
	name := Name(host)
	return strings.EqualFold(name, "localhost") || net.ParseIP(name) != nil ||
		slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
}

// Name returns a Host without its port and without the brackets of an IPv6 address.
func Name(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
