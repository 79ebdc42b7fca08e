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
	require.Contains(t, sockets.HeldBy([]sockets.Process{self}), sockets.Listen{Addr: l.Addr().String(), Port: l.Addr().(*net.TCPAddr).Port, PID: os.Getpid()})
	require.Len(t, sockets.HeldBy([]sockets.Process{self, self}), len(sockets.HeldBy([]sockets.Process{self})), "each is told once")
	require.Empty(t, sockets.HeldBy(nil))
	lives = false
	require.Empty(t, sockets.HeldBy([]sockets.Process{self}), "its number may be another one's")
}
