//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"net"
)

// dialName finds no keeper: a directory has no name here.
func dialName(context.Context, string) (*net.UnixConn, error) { return nil, errAbsent }

// listenName returns no listener.
func listenName(string, int) (*net.UnixListener, error) {
	return nil, nil //nolint:nilnil // it is no error
}
