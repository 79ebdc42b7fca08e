package main_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// Through a real ssh to a real sshd, ServeStdio, Keeper.Handler and a keeper, a client is a
// Host as well.
func TestHeldHostOverSSH(t *testing.T) {
	testenv.Held(t)
	c := clientVia(t, append(testenv.SSH(t), newMachine(t).words("stdio")...))
	proctest.TestHost(t, func(*testing.T) procmgr.Host { return c })
}

// A key that is limited to toolprocd stdio runs that, in the sandbox that is named there,
// whatever the client asks for.
func TestHeldSSHWithCommand(t *testing.T) {
	testenv.Held(t)
	ssh, work, outside := testenv.SSH(t), t.TempDir(), t.TempDir()
	public := ssh[slices.Index(ssh, "-i")+1] + ".pub"
	key, err := os.ReadFile(public)
	require.NoError(t, err)
	limit := fmt.Sprintf("restrict,command=%q ", strings.Join(newMachine(t).words("stdio", "-write", work, "-no-network"), " "))
	require.NoError(t, os.WriteFile(public, append([]byte(limit), key...), 0o600))
	words := append(ssh, program(), "stdio")
	boxed(t, clientVia(t, words), filesVia(t, words), work, outside)
}

// The way is killed in the midst of a start. The call of that client goes on by
// itself. Another client is told that the ID is Attached, reads the output from
// the offset on that the first one had, and finds the end by its last cursor.
func TestWayIsKilled(t *testing.T) {
	m, dir := newMachine(t), t.TempDir()
	way := func(pid string) []string { // a command that writes its pid to a file
		return append([]string{"sh", "-c", "echo $$ > " + pid + `; exec "$@"`, "sh"}, m.words("stdio")...)
	}
	c := clientVia(t, way(dir+"/way"))
	latest, err := c.Chat("a").Events(t.Context(), procmgr.EventsRequest{Limit: -1})
	require.NoError(t, err)
	req := procmgr.StartRequest{
		ID: "build", Wait: long,
		Command: "echo ran >> " + dir + "/ran; echo one; while [ ! -e " + dir + "/go ]; do sleep 0.01; done; echo two; exit 3",
	}
	type answer struct {
		out procmgr.Output
		err error
	}
	got := make(chan answer, 1)
	go func() { // waited for below
		out, err := c.Chat("a").Start(t.Context(), req)
		got <- answer{out, err}
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(dir + "/ran"); return err == nil }, long, time.Millisecond)
	killed := pidOf(t, dir+"/way")
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))

	next := clientVia(t, way(dir+"/next"))
	req.Wait = 0
	out, err := next.Chat("a").Start(t.Context(), req)
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, procmgr.Running, out.Process.State)
	out, err = next.Chat("a").Output(t.Context(), "build", procmgr.OutputRequest{Wait: long, Until: "one"})
	require.NoError(t, err)
	require.Equal(t, "one\n", out.Text)
	require.NoError(t, os.WriteFile(dir+"/go", nil, 0o600))
	out, err = next.Chat("a").Output(t.Context(), "build", procmgr.OutputRequest{From: out.Next, Wait: long})
	require.NoError(t, err)
	require.Equal(t, "two\n", out.Text)
	require.Equal(t, 3, *out.Process.ExitCode)

	first := <-got
	require.NoError(t, first.err)
	require.Equal(t, "one\ntwo\n", first.out.Text)
	require.Equal(t, 3, *first.out.Process.ExitCode)
	require.NotEqual(t, killed, pidOf(t, dir+"/way"), "by another way")

	page, err := next.Chat("a").Events(t.Context(), procmgr.EventsRequest{After: latest.Next, Wait: long})
	require.NoError(t, err)
	require.False(t, page.Gap)
	var kinds []procmgr.EventKind
	for _, e := range page.Events {
		require.Equal(t, "build", e.Process.ID)
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []procmgr.EventKind{procmgr.EventStarted, procmgr.EventExited}, kinds)
	ran, err := os.ReadFile(dir + "/ran")
	require.NoError(t, err)
	require.Equal(t, "ran\n", string(ran))
}
