package proclocal_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// descriptors returns the descriptors of a process.
func descriptors(t *testing.T, pid int) (fds []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	require.NoError(t, err)
	for _, e := range entries {
		fds = append(fds, e.Name())
	}
	return fds
}

// A command has stdin, stdout and stderr, and none of the descriptors that the
// host has itself inherited or opened without close-on-exec.
func TestNoInheritedDescriptors(t *testing.T) {
	if !inProgram(t) {
		cmd := program(t)
		for range 10 {
			f, err := os.Open(os.DevNull)
			require.NoError(t, err)
			defer f.Close()
			cmd.ExtraFiles = append(cmd.ExtraFiles, f)
		}
		runProgram(t, cmd)
		return
	}
	// Two are beyond the number up to which all are closed.
	high := []int{63, 64, 200}
	for _, fd := range high {
		require.NoError(t, unix.Dup2(3, fd))
		defer unix.Close(fd)
	}
	own := newLocal(t, nil)
	wrapping := newLocal(t, &proclocal.Options{Sandbox: &box{wraps: true}, Shell: []string{"sh", "-c"}})
	for name, tt := range map[string]struct {
		l    *proclocal.Local
		req  procmgr.StartRequest
		want []string
	}{
		"empty stdin":             {own, procmgr.StartRequest{}, []string{"0", "1", "2"}},
		"pipe":                    {own, procmgr.StartRequest{Stdin: procmgr.StdinPipe}, []string{"0", "1", "2"}},
		"terminal":                {own, procmgr.StartRequest{Stdin: procmgr.StdinTerminal}, []string{"0", "1", "2"}},
		"wrapped":                 {wrapping, procmgr.StartRequest{}, []string{"0", "1", "2", "3"}}, // 3 is the stdin of the shell
		"wrapped with a terminal": {wrapping, procmgr.StartRequest{Stdin: procmgr.StdinTerminal}, []string{"0", "1", "2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.req.Command = "echo ready; exec sleep 1000"
			tt.req.Background = true
			out := start(t, tt.l, tt.req)
			out = ready(t, tt.l, out.Process.ID, "^ready")
			// The loader of sleep has its libraries open for a moment.
			require.Eventually(t, func() bool { return slices.Equal(tt.want, descriptors(t, out.Process.PID)) }, long, time.Millisecond,
				"%v", descriptors(t, out.Process.PID))
			require.NoError(t, tt.l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
		})
	}
	for _, fd := range append(high, 3, 4, 12) {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		require.NoError(t, err, "the host keeps its own")
		require.Zero(t, flags&unix.FD_CLOEXEC, "and another program that it starts inherits them")
	}
}

// The lock of "flock LOCK agent" is free when the agent has ended, although a command
// of it still runs, and a port of the host is none of a command's.
func TestHostKeepsLocksAndPorts(t *testing.T) {
	testenv.Programs(t, "flock")
	if inProgram(t) {
		l, err := proclocal.New(nil)
		require.NoError(t, err)
		out := start(t, l, procmgr.StartRequest{Command: "echo ready; exec sleep 1000", Background: true})
		out = output(t, l, out.Process.ID, procmgr.OutputRequest{Wait: long, Until: "^ready$", Ports: true})
		require.True(t, out.Matched)
		require.Empty(t, out.Listening)
		fmt.Println("pid", out.Process.PID)
		require.NoError(t, unix.Kill(os.Getpid(), unix.SIGKILL))
		select {}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	defer file.Close()
	lock := filepath.Join(t.TempDir(), "lock")
	cmd := program(t, "flock", "-n", lock)
	cmd.ExtraFiles = []*os.File{file}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	_, pid, found := strings.Cut(string(out), "pid ")
	require.True(t, found, "%s", out)
	pid = strings.TrimSpace(pid)
	require.True(t, alive(pid))
	t.Cleanup(func() {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		require.NoError(t, unix.Kill(n, unix.SIGKILL))
	})
	f, err := os.Open(lock)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), "the command holds the lock of its host")
}
