package prochttp

import (
	"net"

	"golang.org/x/xerrors"
)

// ListenUnix listens on a unix socket at a path that only this user and root
// can open: its mode is 0600 from its first moment on. So a handler on it can
// let in every caller that can connect, see HandlerOptions.Insecure.
//
// ListenUnix replaces a socket that a killed server left behind. It is an error
// if another server serves the socket, or if the path is there and is no
// socket. A directory that others can write to is an error, unless it is sticky
// as /tmp is. A directory that belongs neither to this user nor to root is an
// error too. Paths have at most some 100 bytes on all systems. Closing the
// listener removes the socket.
//
// On systems other than Unix, and on Solaris and AIX, which have no flock, it
// returns [errors.ErrUnsupported].
func ListenUnix(path string) (net.Listener, error) {
	l, err := listenUnix(path)
	if err != nil {
		return nil, xerrors.Errorf("prochttp: listen: %w", err)
	}
	return l, nil
}
