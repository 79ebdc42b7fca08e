package sockets_test

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/sockets"
)

// listen returns a socket of this process, in the form in which it is told.
func listen(t *testing.T, network, host string) sockets.Listen {
	t.Helper()
	l, err := net.Listen(network, net.JoinHostPort(host, "0"))
	if err != nil && network == "tcp6" {
		testenv.Lacks(t, "ipv6", "this machine has no IPv6: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return sockets.Listen{Addr: l.Addr().String(), Port: l.Addr().(*net.TCPAddr).Port, PID: os.Getpid()}
}

func TestHeldBy(t *testing.T) {
	lives := true
	self := sockets.Process{PID: os.Getpid(), Alive: func() bool { return lives }}
	want := listen(t, "tcp4", "127.0.0.1")
	table := make(sockets.Table)
	table.Add(os.Getpid())
	table.Add(os.Getppid()) // in the same namespace, or in one that does not matter
	require.Contains(t, table.HeldBy([]sockets.Process{self}), want)
	require.Len(t, table.HeldBy([]sockets.Process{self, self}), len(table.HeldBy([]sockets.Process{self})), "each is told once")
	require.Empty(t, table.HeldBy(nil))
	lives = false
	require.Empty(t, table.HeldBy([]sockets.Process{self}), "its number may be another one's")
}

// The sockets of IPv6 are found as well.
func TestIPv6(t *testing.T) {
	want := listen(t, "tcp6", "::1")
	table := make(sockets.Table)
	table.Add(os.Getpid())
	require.Contains(t, table.HeldBy([]sockets.Process{{PID: os.Getpid(), Alive: func() bool { return true }}}), want)
}
