//go:build !unix

package prochttp

import (
	"errors"
	"net"

	"golang.org/x/xerrors"
)

// ListenUnix returns [errors.ErrUnsupported]: on these systems the mode of a socket
// means nothing.
func ListenUnix(path string) (net.Listener, error) {
	return nil, xerrors.Errorf("prochttp: listen: %w", errors.ErrUnsupported)
}
