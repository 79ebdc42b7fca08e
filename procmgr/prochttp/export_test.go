package prochttp

import (
	"net/http"
	"time"
)

// SetDeadline shortens the time that a handler gives an answer to be written.
func SetDeadline(h http.Handler, d time.Duration) { h.(*handler).deadline = d }

// SetSlice shortens what a client waits in one request.
func SetSlice(c *Client, d time.Duration) { c.slice = d }

// Waiters returns how many calls a handler has waiting.
func Waiters(h http.Handler) int {
	w := &h.(*handler).waits
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// The bounds of waits.
const (
	MaxSlice = maxSlice
	Slice    = slice
)

// Progress is how long an attempt lasts that was cut by a proxy.
const Progress = progress

// MaxSent is how many process IDs a client remembers.
const MaxSent = maxSent
