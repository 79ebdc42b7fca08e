//go:build !unix || aix || (solaris && !illumos)

package prochttp

import (
	"errors"
	"net"
)

// listenUnix fails: on these systems the mode of a socket means nothing, or a
// directory cannot be locked.
func listenUnix(string) (net.Listener, error) { return nil, errors.ErrUnsupported }
