package osproc

import "crypto/rand"

const (
	// CookiePrefix begins the name of every cookie, in this program and in
	// others.
	CookiePrefix = "TOOLPROC_C_"
	// maxCookie is the length of a cookie's name in bytes.
	maxCookie = len(CookiePrefix) + 26
)

// newCookie returns a new name for the environment variable that marks every
// descendant of one command: 128 random bits.
func newCookie() string { return CookiePrefix + rand.Text()[:26] }
