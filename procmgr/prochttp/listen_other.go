//go:build !unix

package prochttp

import (
	"errors"
	"net"
)

// listenUnix: the mode of a socket means nothing here.
func listenUnix(string) (net.Listener, error) { return nil, errors.ErrUnsupported }
