//go:build unix

package readme_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// makeKeys runs the README's command for keys, and returns the directory of the
// keys.
func makeKeys(t *testing.T, p *pages) (dir string) {
	t.Helper()
	dir = t.TempDir()
	made := commands(t, p.blocks[keysBlock])
	require.Len(t, made, 2)
	require.Contains(t, made[0], " -dir keys ")
	shell(t, root, strings.Replace(made[0], " -dir keys ", " -dir '"+dir+"/keys' ", 1))
	return dir
}

// shell runs a command as a reader does.
func shell(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
}

// toolprocd builds that program, once.
func toolprocd(t *testing.T, p *pages) string {
	t.Helper()
	const built = "cmd/toolprocd"
	if p.programs[built] == "" {
		name := filepath.Join(filepath.Dir(p.programs[agentBlock]), "toolprocd")
		shell(t, root, "go build -o '"+name+"' ./"+built)
		p.programs[built] = name
	}
	return p.programs[built]
}

// serveKeys runs the README's server, with the keys of a directory, on another
// address.
func serveKeys(t *testing.T, p *pages, dir string) (server *program, address string) {
	t.Helper()
	made := commands(t, p.blocks[keysBlock])
	words := strings.Fields(made[1])
	require.Equal(t, []string{"go", "run", "./cmd/toolprocd", "serve", "-listen", ":8443"}, words[:6])
	address = freeAddress(t)
	words[5] = address
	server = start(t, dir, nil, toolprocd(t, p), words[3:]...)
	awaitListener(t, server, address)
	return server, address
}

// serve starts a server that finds its address in ADDRESS, and waits until it
// listens.
func serve(t *testing.T, dir, name string) (p *program, address string) {
	t.Helper()
	address = freeAddress(t)
	p = start(t, dir, []string{"ADDRESS=" + address}, name)
	awaitListener(t, p, address)
	return p, address
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer free.Close()
	return free.Addr().String()
}

// awaitListener waits until a program listens.
func awaitListener(t *testing.T, p *program, address string) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, long, 5*time.Millisecond, "it does not listen\n%s", &p.err)
}

// known returns a transport for which a name leads to an address, with
// the certificate of a directory of keys.
func known(t *testing.T, dir, address string) *http.Transport {
	t.Helper()
	cert, err := os.ReadFile(filepath.Join(dir, "keys", "cert.pem"))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(cert))
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// tokenIn returns the token of a directory of keys.
func tokenIn(t *testing.T, dir string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "keys", "token"))
	require.NoError(t, err)
	return strings.TrimSpace(string(content))
}

// serving runs the commands for keys and for a server, and uses the server with a
// client of its own. The client of the page is in the next block.
func serving(t *testing.T, p *pages, _ block) {
	dir := makeKeys(t, p)
	for _, name := range []string{"token", "cert.pem", "key.pem"} {
		info, err := os.Stat(dir + "/keys/" + name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	program, address := serveKeys(t, p, dir)
	client, err := prochttp.NewClient("https://build.example:8443", &prochttp.ClientOptions{
		Token: tokenIn(t, dir), Transport: known(t, dir, address),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	endServer(t, program, client, syscall.SIGINT)
}

// endServer sends a signal to a server while its client waits for a command.
// The client is answered, and the command ends with the server.
func endServer(t *testing.T, server *program, client *prochttp.Client, sig syscall.Signal) {
	t.Helper()
	chat := client.Chat("chat-1")
	out, err := chat.Start(t.Context(), procmgr.StartRequest{Command: "echo hello", Wait: long})
	require.NoError(t, err, &server.err)
	require.Equal(t, "hello\n", out.Text)

	reporter := newReporter(t, server.dir)
	answered := make(chan procmgr.Output, 1)
	go func() { // ends with the wait, at the latest with the test
		out, _ := chat.Start(t.Context(), procmgr.StartRequest{Command: reporter.command(), Wait: long})
		answered <- out
	}()
	pid := reporter.pid(t)
	require.NoError(t, server.Process.Signal(sig))
	require.Equal(t, procmgr.Running, (<-answered).Process.State)
	require.Zero(t, server.end(t), &server.err)
	requireGone(t, pid)
}

// client runs the client against the server.
func client(t *testing.T, p *pages, _ block) {
	dir := makeKeys(t, p)
	_, address := serveKeys(t, p, dir)
	var result struct {
		Success bool
		Output  string
	}
	says := runClient(t, p, dir, address)
	require.NoError(t, json.Unmarshal([]byte(says), &result), says)
	require.True(t, result.Success, says)
	name, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, name+"\n", result.Output)
}

// runClient runs the page's client, with the two files that it gets.
func runClient(t *testing.T, p *pages, dir, address string) (says string) {
	t.Helper()
	here := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(here, "keys"), 0o700))
	for _, name := range []string{"token", "cert.pem"} {
		require.NoError(t, os.Link(filepath.Join(dir, "keys", name), filepath.Join(here, "keys", name)))
	}
	program := start(t, here, []string{"SERVER=https://" + address}, p.programs[clientBlock])
	require.Zero(t, program.end(t), &program.err)
	return program.out.String()
}
