package prochttp_test

import (
	"context"
	"fmt"
	"net"
	"os"
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

// kubectl exec loses its connection, and answers 0. The client does not take that
// for success, and the far side ends because its pings get no answer.
func TestHeldLostExec(t *testing.T) {
	testenv.Held(t)
	t.Parallel()
	exec := testenv.NewLostExec(t, toFarSide(t)...)
	c := dialing(t, prochttp.Command(exec.Command...), prochttp.ClientOptions{})
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
	exec.Lose()
	require.ErrorIs(t, <-got, procmgr.ErrUnknown)
	require.Equal(t, "hello\n", run(t, c, "echo hello").Text, "a new far side serves")
	text, err := os.ReadFile(mark)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(text), "it ran once")
	exec.Lost()
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
