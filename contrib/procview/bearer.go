package procview

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// A bearer is the hash of a token.
type bearer [sha256.Size]byte

// hash returns the hash of a token.
func hash(token string) bearer { return sha256.Sum256([]byte(token)) }

// fits reports whether a header can carry a token: printable ASCII without spaces.
func fits(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII-1 })
}

// in reports whether a header has the token, once. The tokens are compared by their
// hashes, so that the time does not even tell their length.
func (b bearer) in(h http.Header) bool {
	given := h.Values("Authorization")
	if len(given) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	sum := hash(token)
	return subtle.ConstantTimeCompare(sum[:], b[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// knows reports whether the Host of a request may be meant for this machine: it is
// "localhost", an IP address, or one of some names, with or without a port. A web
// page can let its own name point to this machine, and the browser then sends that.
func knows(host string, names []string) bool {
	name := hostName(host)
	return strings.EqualFold(name, "localhost") || net.ParseIP(name) != nil ||
		slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
}

// hostName returns a Host without its port and without the brackets of an IPv6 address.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
