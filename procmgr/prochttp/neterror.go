//go:build !plan9

package prochttp

import (
	"errors"
	"io/fs"
	"runtime"
	"syscall"
)

// nobodyListens reports whether there is no server at a socket.
func nobodyListens(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// isUnread reports whether the other end of a unix socket was closed and had not read
// everything, see unix(7). TCP resets a connection for other reasons too, and so may
// the unix sockets of other systems.
func isUnread(err error) bool {
	return runtime.GOOS == "linux" && errors.Is(err, syscall.ECONNRESET)
}
