//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import "net"

// nameOf returns "": a socket has no address besides its path here.
func nameOf(string) string { return "" }

func listenName(string, string) (net.Listener, error) {
	return nil, nil //nolint:nilnil // it is no error
}

func namedKeepers(string) []string { return nil }

// orphans stay with the system.
type orphans struct{}

func (*orphans) adopt() error        { return nil }
func (*orphans) reap(func(int) bool) {}
