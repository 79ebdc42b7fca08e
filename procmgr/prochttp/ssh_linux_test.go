package prochttp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// kubectl exec loses its connection, and the far side is told nothing: its stdin and stdout
// stay open. It ends because its pings get no answer.
func TestHeldLostExec(t *testing.T) {
	testenv.Held(t)
	t.Parallel()
	words := toFarSide(t)
	far := exec.Command(words[0], words[1:]...)
	in, err := far.StdinPipe()
	require.NoError(t, err)
	out, err := far.StdoutPipe()
	require.NoError(t, err)
	said, err := far.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, far.Start())
	near, between := net.Pipe()
	go func() { _, _ = io.Copy(in, between) }()  // ends with near
	go func() { _, _ = io.Copy(between, out) }() // ends with near, and what the far side says then
	first := true
	c := dialing(t, func(ctx context.Context) (net.Conn, error) {
		if first {
			first = false
			return near, nil
		}
		return prochttp.Command(words...)(ctx)
	}, prochttp.ClientOptions{})
	mark := filepath.Join(t.TempDir(), "mark")
	got := make(chan error, 1)
	go func() { // waited for below
		out, err := c.Start(t.Context(), procmgr.StartRequest{ID: "once", Command: "echo x >> " + mark + "; echo $$ > " + mark + ".pid; exec sleep 1000", Wait: 2 * long})
		if err == nil {
			err = fmt.Errorf("it ended: %+v", out)
		}
		got <- err
	}()
	var leader string
	require.Eventually(t, func() bool {
		pid, err := os.ReadFile(mark + ".pid")
		leader = strings.TrimSpace(string(pid))
		return err == nil && leader != ""
	}, long, 10*time.Millisecond)
	require.NoError(t, near.Close())
	require.NoError(t, said.Close())
	require.ErrorIs(t, <-got, procmgr.ErrUnknown)
	require.Equal(t, "hello\n", run(t, c, "echo hello").Text, "a new far side serves")
	text, err := os.ReadFile(mark)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(text), "it ran once")
	defer time.AfterFunc(2*long, func() { _ = far.Process.Kill() }).Stop()
	require.NoError(t, far.Wait(), "it has to end by itself")
	require.False(t, lives(leader), "it closes what it served, though nobody reads its stderr any more")
}

// A client finds a connection dead on which nothing comes any more, and makes
// another one.
func TestHeldSilentConnection(t *testing.T) {
	testenv.Held(t)
	t.Parallel()
	command := prochttp.Command(toFarSide(t)...)
	var pids []int
	c := dialing(t, func(ctx context.Context) (net.Conn, error) {
		conn, err := command(ctx)
		if err == nil {
			pids = append(pids, prochttp.CommandPID(conn))
		}
		return conn, err
	}, prochttp.ClientOptions{})
	run(t, c, "true")
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGSTOP))
	tasks := fmt.Sprintf("/proc/%d/task/*/stat", pids[0])
	require.Eventually(t, func() bool { // until then a thread may answer
		stats, err := filepath.Glob(tasks)
		return err == nil && !slices.ContainsFunc(stats, func(name string) bool {
			stat, err := os.ReadFile(name)
			return err == nil && !strings.Contains(string(stat), ") T ")
		})
	}, long, time.Millisecond)
	_, err := c.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Len(t, pids, 2)
}
