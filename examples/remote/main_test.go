package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
)

var update = flag.Bool("update", false, "write testdata/transcript.txt anew")

// long is a wait that ends earlier, unless something is wrong.
const long = 30 * time.Second

// TestMain lets the test binary play the program, in all of its roles.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
	}
	_, secrets := envpolicy.Policy{}.Apply(os.Environ(), nil)
	for _, name := range secrets.Withheld {
		_ = os.Unsetenv(name) // or the first command that fails would be told of it
	}
	os.Exit(m.Run())
}

func TestTranscript(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
	}{
		{"TLS", []string{"show"}},
		{"unix", []string{"show", "-unix"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tmp := scratch(t)
			cmd := program(t, test.args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			require.NoError(t, err, "%s%s", out, &stderr)
			require.Empty(t, stderr.String())
			requireNothingLeft(t, tmp)

			for line := range strings.Lines(string(out)) {
				require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width, line)
			}
			golden := filepath.Join("testdata", "transcript.txt")
			got := steady(string(out))
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got, "go test -update writes %s anew", golden)
		})
	}
}

// If the show is stopped in the middle, it leaves nothing behind.
func TestShowStopped(t *testing.T) {
	tmp := scratch(t)
	cmd := program(t, "show")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	waitFor(t, filepath.Join(tmp, "remote-*", "work", "ledger"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Contains(t, stderr.String(), "stopped before the end")
	requireNothingLeft(t, tmp)
}

// A daemon that is stopped answers the waiting call, and leaves nothing behind.
func TestDaemonStopped(t *testing.T) {
	for _, name := range []string{"TLS", "unix"} {
		t.Run(name, func(t *testing.T) {
			tmp := scratch(t)
			d := startDaemon(t, name == "unix")
			client, err := connect(d.url, d.token, d.cert)
			require.NoError(t, err)
			defer func() { _ = client.Close() }() // Close closes idle connections, and an error there loses nothing

			const wait = time.Hour // longer than one request
			type answer struct {
				out procmgr.Output
				err error
			}
			answers := make(chan answer, 1)
			go func() { // the receive below waits for it
				out, err := client.Chat("a").Start(t.Context(), procmgr.StartRequest{
					Command: "touch one; exec sleep 1000",
					Wait:    wait,
				})
				answers <- answer{out, err}
			}()
			waitFor(t, filepath.Join(d.dir, "one"))
			began := time.Now()
			require.NoError(t, d.terminate(), "the daemon's exit code")
			require.Less(t, time.Since(began), wait)
			a := <-answers
			require.NoError(t, a.err)
			require.Equal(t, procmgr.Running, a.out.Process.State, "as it was when the wait was ended")
			require.NoError(t, os.RemoveAll(d.dir))
			requireNothingLeft(t, tmp)
		})
	}
}

// An agent that is stopped stops its foreground command too.
func TestAgentStopped(t *testing.T) {
	scratch(t)
	d := startDaemon(t, false)
	p, err := d.agent(t.Context(), "agent", "a")
	require.NoError(t, err)
	defer func() { _ = p.kill() }()
	require.NoError(t, p.send("execute", map[string]any{"command": "touch one; exec sleep 1000", "timeout": "10m"}))
	waitFor(t, filepath.Join(d.dir, "one"))
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	line, err := p.line()
	require.NoError(t, err)
	require.Contains(t, line, `"success":false`)
	require.Error(t, p.end())

	client, err := connect(d.url, d.token, d.cert)
	require.NoError(t, err)
	defer func() { _ = client.Close() }() // Close closes idle connections, and an error there loses nothing
	page, err := client.List(t.Context(), procmgr.ListRequest{})
	all := page.Processes
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, procmgr.Exited, all[0].State)
	require.Equal(t, procmgr.CauseRequest, all[0].EndedBy)
}

// A client without the token is not let in. A client that does not trust the
// certificate does not send its token.
func TestStrangers(t *testing.T) {
	scratch(t)
	d := startDaemon(t, false)
	other := filepath.Join(t.TempDir(), "token")
	require.NoError(t, writeNew(other, []byte("another one")))
	for _, test := range []struct{ name, token, ca, want string }{
		{"no token", "", d.cert, "the credentials are missing or wrong"},
		{"another token", other, d.cert, "the credentials are missing or wrong"},
		{"the system's certificates", d.token, "", "certificate signed by unknown authority"},
	} {
		client, err := connect(d.url, test.token, test.ca)
		require.NoError(t, err, test.name)
		_, err = client.Chat("a").Start(t.Context(), procmgr.StartRequest{Command: "touch one"})
		require.ErrorContains(t, err, test.want, test.name)
		require.NoError(t, client.Close())
	}
	require.NoFileExists(t, filepath.Join(d.dir, "one"))
}

// A daemon that anybody could use does not start.
func TestServeClosedByDefault(t *testing.T) {
	scratch(t)
	dir := t.TempDir()
	require.NoError(t, writeKeys(dir, []string{"127.0.0.1"}))
	token, cert, key := filepath.Join(dir, tokenName), filepath.Join(dir, certName), filepath.Join(dir, keyName)
	require.ErrorContains(t, serve([]string{"-listen", "127.0.0.1:0", "-token-file", token}, io.Discard), "TLS needs -cert and -key")
	require.ErrorIs(t, serve([]string{"-listen", "127.0.0.1:0", "-cert", cert, "-key", key}, io.Discard), procmgr.ErrInvalid)
	require.NoError(t, os.Chmod(token, 0o640))
	require.ErrorContains(t, serve([]string{"-token-file", token, "-cert", cert, "-key", key}, io.Discard), "others can read")
	require.ErrorIs(t, writeKeys(dir, nil), os.ErrExist, "keys are not overwritten")
}

// A daemon is a daemon of one test, with the values that its clients need.
type daemon struct {
	*actor
	*stage
	dir         string // the directory of the commands
	token, cert string // files; "" for a unix socket
}

// startDaemon starts a daemon that the test ends.
func startDaemon(t *testing.T, unix bool) daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") //nolint:usetesting // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // already gone if nothing was left
	d := daemon{dir: dir, stage: &stage{transcript: transcript{out: io.Discard}, log: os.Stderr}}
	if !testing.Verbose() {
		d.log, err = os.Open(os.DevNull)
		require.NoError(t, err)
		defer d.log.Close()
	}
	args := []string{"serve", "-dir", dir}
	if unix {
		args = append(args, "-unix", filepath.Join(dir, "s"))
	} else {
		require.NoError(t, writeKeys(dir, []string{"127.0.0.1"}))
		d.token, d.cert = filepath.Join(dir, tokenName), filepath.Join(dir, certName)
		args = append(args, "-listen", "127.0.0.1:0", "-token-file", d.token, "-cert", d.cert, "-key", filepath.Join(dir, keyName))
		d.credentials = []string{"-token-file", d.token, "-ca", d.cert}
	}
	d.actor, err = d.start(context.Background(), args...) // t.Context ends before the daemon does
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.terminate()) })
	line, err := d.line()
	require.NoError(t, err)
	d.url = strings.TrimPrefix(line, "listening on ")
	return d
}

// program returns a command that runs this program in a role.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*long)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, self, args...)
}

// waitFor waits until a file exists.
func waitFor(t *testing.T, pattern string) {
	t.Helper()
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(pattern)
		return err == nil && len(found) > 0
	}, long, 5*time.Millisecond, pattern)
}

// scratch gives the test a directory of its own for temporary files.
func scratch(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	tmp, err := os.MkdirTemp("", "") //nolint:usetesting // the path of a socket in it must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) }) // already gone if nothing was left
	t.Setenv("TMPDIR", tmp)
	return tmp
}

// requireNothingLeft fails if a file is left in tmp, or a process that uses tmp
// for its temporary files. Only Linux shows the processes.
func requireNothingLeft(t *testing.T, tmp string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left, "files are left")
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, name := range environs {
		environ, _ := os.ReadFile(name) // the process may have ended
		require.NotContains(t, string(environ), "TMPDIR="+tmp+"\x00", "a process is left: %s", name)
	}
}

var (
	address   = regexp.MustCompile(`(?:https|unix)://\S+`)
	processID = regexp.MustCompile(`(?:process_id=|process |\| )([a-z2-7]{10})\b`)
)

// steady replaces the parts of a transcript that differ from run to run.
func steady(transcript string) string {
	known := make(map[string]bool)
	for _, found := range processID.FindAllStringSubmatch(transcript, -1) {
		if id := found[1]; !known[id] {
			known[id] = true
			transcript = strings.ReplaceAll(transcript, id, fmt.Sprintf("<process %d>", len(known)))
		}
	}
	return address.ReplaceAllString(transcript, "<url>")
}
