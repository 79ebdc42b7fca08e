//go:build darwin || freebsd || netbsd || openbsd || dragonfly

// What Linux alone has.

package prockeep

import (
	"context"
	"net"
)

// A socket has no address besides its path here.
func listenName(string, string) (*net.UnixListener, error) { return nil, nil } //nolint:nilnil // it is no error

func dialName(context.Context, string, string) (net.Conn, error) { return nil, errAbsent }
func namedKeepers(string) []string                               { return nil }

// The directory is this user's own, and there are no sandboxes here.
func isOwn(net.Conn) bool  { return true }
func isFree(net.Conn) bool { return true }

// orphans stay with the system.
type orphans struct{}

func (*orphans) adopt() error               { return nil }
func (*orphans) reap(func() func(int) bool) {}
