package prochttp_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// sshd runs a real sshd of the test's own on loopback. It returns the words of
// ssh that reach it.
func sshd(t *testing.T) []string {
	t.Helper()
	testenv.Root(t) // nobody else can log in to an account with no password
	testenv.Programs(t, "sshd", "ssh", "ssh-keygen")
	dir := t.TempDir()
	for _, name := range []string{"host", "user"} {
		out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	config := filepath.Join(dir, "config")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
ListenAddress 127.0.0.1:%d
HostKey %s/host
AuthorizedKeysFile %[2]s/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
MaxStartups 100
`, port, dir), 0o600))
	require.NoError(t, os.MkdirAll("/run/sshd", 0o755)) // it wants that to be there
	path, err := exec.LookPath("sshd")
	require.NoError(t, err)
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, "-D", "-e", "-f", config)
	cmd.Stderr = &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", log.String())
		}
	})
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, long, 10*time.Millisecond)
	return []string{
		"ssh", "-F", "none", "-T", "-o", "BatchMode=yes", "-o", "UserKnownHostsFile=" + dir + "/known",
		"-o", "StrictHostKeyChecking=accept-new", "-i", dir + "/user", "-p", fmt.Sprint(port), "root@127.0.0.1",
	}
}

// Through a real ssh to a real sshd, a client is a Host as well.
func TestHeldHostOverSSH(t *testing.T) {
	testenv.Held(t)
	ssh := sshd(t)
	c := dialing(t, prochttp.Command(toFarSide(t, ssh...)...), prochttp.ClientOptions{})
	proctest.TestHost(t, func(*testing.T) procmgr.Host { return c })
}

// What ssh, the server and the login say when it does not work is in the error.
func TestHeldSSHSaysWhy(t *testing.T) {
	testenv.Held(t)
	ssh := sshd(t)
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
			_, err := c.List(t.Context())
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// A stand-in for kubectl exec: its far side keeps its stdin and stdout when the
// connection is lost, and kubectl then answers 0. The client does not take that
// for success, and the far side ends because nobody answers its pings.
func TestHeldLostExec(t *testing.T) {
	testenv.Held(t)
	dir := t.TempDir()
	kubectl := filepath.Join(dir, "kubectl")
	require.NoError(t, os.WriteFile(kubectl, []byte(`#!/bin/sh
# The connection is what this script's children carry. It is lost when there is a file.
in=`+dir+`/in.$$ out=`+dir+`/out.$$
mkfifo $in $out
# The far side holds both ends of both pipes, so none of them ever ends.
setsid env `+farSideVariable+`=1 `+self(t)+` <>$in 1<>$out &
echo $! >> `+dir+`/far
cat <&3 >$in 3<&- & up=$!
cat <$out & down=$!
while [ ! -e `+dir+`/lost.$$ ] && kill -0 $up 2>/dev/null; do sleep 0.05; done
kill $up $down
exit 0
`), 0o700))
	t.Cleanup(func() { // the client has closed the second connection, of which its far side does not know
		all, _ := os.ReadFile(filepath.Join(dir, "far"))
		for _, pid := range strings.Fields(string(all)) {
			if n, err := strconv.Atoi(pid); err == nil && lives(pid) {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	})
	command := prochttp.Command("sh", "-c", "exec 3<&0; exec "+kubectl)
	pids := make(chan int, 10)
	c := dialing(t, func(ctx context.Context) (net.Conn, error) {
		conn, err := command(ctx)
		if err == nil {
			pids <- prochttp.CommandPID(conn)
		}
		return conn, err
	}, prochttp.ClientOptions{})
	mark := filepath.Join(dir, "mark")
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
	first, err := os.ReadFile(filepath.Join(dir, "far"))
	require.NoError(t, err)
	far := strings.TrimSpace(string(first))
	require.True(t, lives(far))
	require.NoError(t, os.WriteFile(fmt.Sprintf("%s/lost.%d", dir, <-pids), nil, 0o600))
	require.ErrorIs(t, <-got, procmgr.ErrUnknown)
	require.Equal(t, "hello\n", run(t, c, "echo hello").Text, "a new far side serves")
	text, err := os.ReadFile(mark)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(text), "it ran once")
	require.Eventually(t, func() bool { return !lives(far) }, long, 50*time.Millisecond, "the first far side has to end by itself")
	require.False(t, lives(leader), "it closes what it served, though nobody reads its stderr any more")
}

// A client finds a connection dead on which nothing comes any more, and makes
// another one.
func TestHeldSilentConnection(t *testing.T) {
	testenv.Held(t)
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
	_, err := c.List(t.Context())
	require.NoError(t, err)
	require.Len(t, pids, 2)
}
