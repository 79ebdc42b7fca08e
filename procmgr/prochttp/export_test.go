package prochttp

import (
	"net"
	"net/http"
	"time"
)

// SetDeadline shortens the time in which a handler must write an answer.
func SetDeadline(h http.Handler, d time.Duration) { h.(*handler).deadline = d }

// SetSlice shortens the wait of one request of a client.
func SetSlice(c *Client, d time.Duration) { c.slice = d }

// Waiters returns how many calls wait in a handler.
func Waiters(h http.Handler) int {
	w := &h.(*handler).waits
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// The limits of waits.
const (
	MaxSlice = maxSlice
	Slice    = slice
)

// Progress is the shortest time after which an attempt that breaks counts as cut
// by a proxy.
const Progress = progress

// ServeBytes is ServeStdio with other streams and another limit.
var ServeBytes = serveStdio

// MaxSent is how many process IDs a client remembers.
const MaxSent = maxSent

// CommandPID returns the PID of the command behind a connection of Command.
func CommandPID(conn net.Conn) int { return conn.(*commandConn).cmd.Process.Pid }

// StartBody is the body of a start.
type StartBody = startBody

// Decode reads JSON.
var Decode = decode
