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
	return int(h.(*handler).waits.n.Load())
}

// The limits of waits.
const (
	MaxSlice = maxSlice
	Slice    = slice
)

// ServeBytes is ServeStdio with other streams and another limit.
var ServeBytes = serveStdio

// CommandPID returns the PID of the command behind a connection of Command.
func CommandPID(conn net.Conn) int { return conn.(*commandConn).cmd.Process.Pid }
