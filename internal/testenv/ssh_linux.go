package testenv

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// SSH runs a real sshd of the test's own on loopback. It returns the words of ssh
// that reach it.
func SSH(t testing.TB) []string {
	t.Helper()
	Root(t) // only root can log in to an account with no password
	Programs(t, "sshd", "ssh", "ssh-keygen")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"host", "user"} {
		out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	addr := free.Addr().String()
	must(free.Close())
	host, port, err := net.SplitHostPort(addr)
	must(err)
	config := filepath.Join(dir, "config")
	must(os.WriteFile(config, fmt.Appendf(nil, `
ListenAddress %s:%s
HostKey %s/host
AuthorizedKeysFile %[3]s/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
MaxStartups 100
`, host, port, dir), 0o600))
	must(os.MkdirAll("/run/sshd", 0o755)) // it wants that to be there
	path, err := exec.LookPath("sshd")
	must(err)
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, "-D", "-e", "-f", config)
	cmd.Stderr = &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	must(cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", log.String())
		}
	})
	for over := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(over) {
			t.Fatalf("sshd does not listen: %v", err)
		}
	}
	return []string{
		"ssh", "-F", "none", "-T", "-o", "BatchMode=yes", "-o", "UserKnownHostsFile=" + dir + "/known",
		"-o", "StrictHostKeyChecking=accept-new", "-i", dir + "/user", "-p", port, "root@" + host,
	}
}
