package prochttp

import (
	"net"

	"golang.org/x/xerrors"
)

// ListenUnix listens on a unix socket at a path that only this user, and root,
// can open: its mode is 0600 from its first moment on. What serves it can let
// everybody in who gets that far, see HandlerOptions.Insecure.
//
// A socket that is left of a server that was killed is replaced; one that is
// served, and anything that is no socket, is an error, and so is a directory
// that others can write to, unless it is sticky as /tmp is, or that belongs to
// another user than this one and root. Paths have at most
// some 100 bytes on all systems. Closing the listener removes the socket.
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
