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

// What ssh, the server and the login say when it does not work is in the error.
func TestHeldSSHSaysWhy(t *testing.T) {
	testenv.Held(t)
	ssh := testenv.SSH(t)
	with := func(option string) []string { return append([]string{"ssh", option}, ssh[1:]...) }
	for _, tt := range []struct {
		name    string
		command []string
		want    []string
	}{
		{"no key", with("-oPreferredAuthentications=password"), []string{"exit status 255", "Permission denied"}},
		{"no program", append(ssh, "no-such-program"), []string{"exit status 127", "not found"}},
		{"nobody listens", append([]string{"ssh", "-p1"}, ssh[1:]...), []string{"exit status 255", "Connection refused"}},
		{"a login that talks", append(ssh, "echo welcome to build;", "exec", "cat"), []string{`begins with "welcome to build\nPRI`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := dialing(t, prochttp.Command(tt.command...), prochttp.ClientOptions{Retry: -1})
			_, err := c.List(t.Context(), procmgr.ListRequest{})
			for range 5 { // on a busy machine, ssh may take longer than a call has
				if err == nil || !strings.Contains(err.Error(), "no answer in time") {
					break
				}
				_, err = c.List(t.Context(), procmgr.ListRequest{})
			}
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

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
