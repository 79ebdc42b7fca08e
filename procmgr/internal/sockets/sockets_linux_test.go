package sockets_test

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/sockets"
)

func TestHeldBy(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	lives := true
	self := sockets.Process{PID: os.Getpid(), Alive: func() bool { return lives }}
	table := make(sockets.Table)
	table.Add(os.Getpid())
	table.Add(os.Getppid()) // in the same namespace, or in one that does not matter
	require.Contains(t, table.HeldBy([]sockets.Process{self}), sockets.Listen{Addr: l.Addr().String(), Port: l.Addr().(*net.TCPAddr).Port, PID: os.Getpid()})
	require.Len(t, table.HeldBy([]sockets.Process{self, self}), len(table.HeldBy([]sockets.Process{self})), "each is told once")
	require.Empty(t, table.HeldBy(nil))
	lives = false
	require.Empty(t, table.HeldBy([]sockets.Process{self}), "its number may be another one's")
}
