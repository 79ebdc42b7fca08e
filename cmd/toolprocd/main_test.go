//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// long is a time that a test waits only if something is wrong.
const long = 30 * time.Second

// program is the path of toolprocd, which is built once.
var program = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "toolprocd")
	if err != nil {
		panic(err)
	}
	name := filepath.Join(dir, "toolprocd")
	cmd := exec.Command("go", "build", "-o", name, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	return name
})

// TestMain fails the run if it leaves a keeper behind. What the tests start does
// not ignore SIGHUP, also if nohup has started the tests.
func TestMain(m *testing.M) {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	code := m.Run()
	name := program()
	if left := running(name); code == 0 && len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind by the tests: keepers", left)
		code = 1
	}
	_ = os.RemoveAll(filepath.Dir(name))
	os.Exit(code)
}

// running waits a moment for processes of a program that are about to end, and
// returns the others. It finds them on Linux alone.
func running(name string) (left []string) {
	for range 500 {
		left = nil
		all, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, exe := range all {
			if file, err := os.Readlink(exe); err == nil && file == name {
				left = append(left, filepath.Base(filepath.Dir(exe)))
			}
		}
		if len(left) == 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

// A machine is a directory of a keeper, which ends with the test.
type machine struct{ dir string }

func newMachine(t testing.TB) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "k") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	m := &machine{filepath.Join(dir, "k")}
	t.Cleanup(func() {
		_, stderr, code := m.toolprocd(t, "stop", "-f")
		require.Zero(t, code, stderr)
		require.NoError(t, os.RemoveAll(dir))
	})
	return m
}

// words returns the words of a toolprocd command. If a test dies, the keeper ends by
// itself.
func (m *machine) words(command string, args ...string) []string {
	return append([]string{program(), command, "-dir", m.dir, "-idle", "2m"}, args...)
}

func (m *machine) command(command string, args ...string) *exec.Cmd {
	words := m.words(command, args...)
	return exec.Command(words[0], words[1:]...)
}

// toolprocd runs a command of toolprocd to its end.
func (m *machine) toolprocd(t testing.TB, command string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := m.command(command, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// client returns a client of the machine's stdio.
func (m *machine) client(t testing.TB) *prochttp.Client {
	t.Helper()
	return clientVia(t, m.words("stdio"))
}

func clientVia(t testing.TB, words []string) *prochttp.Client {
	t.Helper()
	c, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{
		Dial:   prochttp.Command(words...),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// begin starts a command and waits until it has printed "ready".
func begin(t testing.TB, m procmgr.Manager, id, command string) {
	t.Helper()
	_, err := m.Start(t.Context(), procmgr.StartRequest{ID: id, Command: command, Background: true})
	require.NoError(t, err)
	out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: long, Until: "^ready$"})
	require.NoError(t, err)
	require.True(t, out.Matched, "it never got ready: %+v", out)
}

// hello runs a command through a client.
func hello(t *testing.T, c *prochttp.Client) {
	t.Helper()
	out, err := c.Start(t.Context(), procmgr.StartRequest{Command: "echo hello", Wait: long})
	require.NoError(t, err)
	require.Equal(t, "hello\n", out.Text)
}

// says starts a command, and returns what follows a text on the first line of its stderr,
// and the rest of that.
func says(t *testing.T, cmd *exec.Cmd, text string) (what string, rest io.Reader) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	what, ok := strings.CutPrefix(strings.TrimSpace(line), text)
	require.True(t, ok, line)
	return what, stderr
}

// With serve, the processes end with toolprocd.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	token, cert, key := dir+"/token", dir+"/cert", dir+"/key"
	roots := writeKeys(t, token, cert, key)
	for name, tt := range map[string]struct {
		args   []string
		scheme string
		opts   prochttp.ClientOptions
	}{
		"a socket": {[]string{"-unix", dir + "/s"}, "unix://", prochttp.ClientOptions{}},
		"a port": {
			[]string{"-listen", "127.0.0.1:0", "-tls-cert", cert, "-tls-key", key, "-token-file", token},
			"https://", prochttp.ClientOptions{Token: "secret", TLS: &tls.Config{RootCAs: roots}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program(), append([]string{"serve"}, tt.args...)...)
			address, _ := says(t, cmd, "listening on ")
			c, err := prochttp.NewClient(tt.scheme+address, &tt.opts)
			require.NoError(t, err)
			hello(t, c)
			out, err := c.Start(t.Context(), procmgr.StartRequest{Command: "exec sleep 1000"})
			require.NoError(t, err)
			require.NoError(t, c.Close())
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, cmd.Wait())
			require.ErrorIs(t, syscall.Kill(out.Process.PID, 0), syscall.ESRCH)
		})
	}
}

// With -view, serve prints the URL of a page too.
func TestServeView(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), program(), "serve", "-unix", t.TempDir()+"/s", "-view")
	url, stderr := says(t, cmd, "the page is ")
	base, token, _ := strings.Cut(url, "#token=")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"list", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_, _ = io.Copy(io.Discard, stderr)
	require.NoError(t, cmd.Wait())
}

// writeKeys writes a token, and the certificate of a test server.
func writeKeys(t *testing.T, token, cert, key string) *x509.CertPool {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	for name, content := range map[string][]byte{
		token: []byte("secret\n"),
		cert:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	} {
		require.NoError(t, os.WriteFile(name, content, 0o600))
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return roots
}

func TestWhatCannotBe(t *testing.T) {
	m := newMachine(t)
	open := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(open, []byte("secret\n"), 0o644))
	closed := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(closed, []byte("secret\n"), 0o600))
	for _, tt := range []struct {
		name, want string
		code       int
		args       []string
	}{
		{"nothing", "usage:", 2, nil},
		{"no such command", `there is no command "pss"`, 2, []string{"pss"}},
		{"serve nowhere", "set one of -listen and", 1, []string{"serve"}},
		{"no token", "needs -token-file", 1, []string{"serve", "-listen", "127.0.0.1:0"}},
		{"no TLS", "needs -tls-cert and -tls-key", 1, []string{"serve", "-listen", "127.0.0.1:0", "-token-file", open}},
		{"no certificate", "no such file", 1, []string{"serve", "-listen", "127.0.0.1:0", "-token-file", closed, "-tls-cert", "/no/cert", "-tls-key", "/no/key"}},
		{"an open token", "others can read", 1, []string{"serve", "-listen", "127.0.0.1:0", "-token-file", open, "-tls-cert", "c", "-tls-key", "k"}},
		{"an argument", `toolprocd stdio: unexpected argument "now"`, 1, []string{"stdio", "now"}},
		{"a flag", "toolprocd stdio: flag provided but not defi", 1, []string{"stdio", "-port"}},
		{"no ID", "the ID of a process is missing", 1, []string{"logs", "-f"}},
		{"two IDs", `unexpected argument "b"`, 1, []string{"logs", "a", "b"}},
		{"no command", "the command is missing", 1, []string{"run"}},
		{"no directory", "is no directory", 1, []string{"ps", "-dir", program()}},
		{"a long path", "no socket can be in it", 1, []string{"run", "-dir", "/tmp/" + strings.Repeat("x", 100), "true"}},
		{"no process", "there is no process nope; toolprocd ps -a shows all", 1, m.words("logs", "nope")[1:]},
		{"no process in a chat", "there is no process nope", 1, m.words("kill", "-chat", "a", "nope")[1:]},
		{"no such signal", `there is no signal "HUP"; there are TERM, INT and KILL`, 1, m.words("kill", "-s", "HUP", "x")[1:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), program(), tt.args...)
			cmd.Stderr = &stderr
			require.Error(t, cmd.Run())
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode())
			require.Contains(t, stderr.String(), tt.want)
			require.Equal(t, 1, strings.Count(stderr.String(), tt.want), "it is said once")
		})
	}
	out, err := exec.CommandContext(t.Context(), program(), "--help").Output()
	require.NoError(t, err)
	for _, name := range []string{"stdio", "serve", "ps", "logs", "kill", "run", "upgrade", "stop"} {
		require.Contains(t, string(out), "toolprocd "+name)
		help, err := exec.CommandContext(t.Context(), program(), name, "-h").Output()
		require.NoError(t, err)
		require.Contains(t, string(help), "usage: toolprocd "+name)
	}
}

// The directory of the keeper is in $XDG_STATE_HOME, or else in the home directory.
func TestDirectory(t *testing.T) {
	home, err := os.MkdirTemp("", "h") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(home)) }()
	for name, tt := range map[string]struct {
		env []string
		dir string
	}{
		"XDG_STATE_HOME": {[]string{"HOME=/nowhere", "XDG_STATE_HOME=" + home + "/state"}, home + "/state/toolproc"},
		"HOME":           {[]string{"HOME=" + home}, home + "/.local/state/toolproc"},
		"relative":       {[]string{"HOME=" + home + "/2", "XDG_STATE_HOME=state"}, home + "/2/.local/state/toolproc"},
	} {
		t.Run(name, func(t *testing.T) {
			ps := exec.CommandContext(t.Context(), program(), "ps", "-idle", "2m")
			ps.Env = append(tt.env, "PATH="+os.Getenv("PATH"))
			out, err := ps.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "nothing runs in the keeper of "+tt.dir+"\n")
			_, stderr, code := (&machine{tt.dir}).toolprocd(t, "stop")
			require.Zero(t, code, stderr)
		})
	}
	bare := exec.CommandContext(t.Context(), program(), "ps")
	bare.Env = []string{}
	out, err := bare.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "set -dir")
}

// run starts a command, and logs -f prints the output and exits with the code.
func TestRun(t *testing.T) {
	m := newMachine(t)
	for _, tt := range []struct {
		name string
		args []string
		out  string
		code int
	}{
		{"a line", []string{"echo one; echo two >&2; exit 3"}, "one\ntwo\n", 3},
		{"words", []string{"printf", "%s|", "a  b", "$HOME", "it's", ""}, "a  b|$HOME|it's||", 0},
		{"an assignment", []string{"A=1", "sh", "-c", "echo $A"}, "1\n", 0},
		{"its own flags", []string{"sh", "-c", "exit 4"}, "", 4},
		{"a signal", []string{"kill -KILL $$"}, "", 128 + 9},
		{"much", []string{"seq 300000"}, numbers(300000), 0},
		{"no end of line", []string{"printf '%1000000s' x"}, fmt.Sprintf("%1000000s", "x"), 0},
		{"a line that is redrawn", []string{`printf '1%%\r'; sleep 0.2; printf '2%%\r3%%\n'`}, "1%\n3%\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id, stderr, code := m.toolprocd(t, "run", tt.args...)
			require.Zero(t, code, stderr)
			stdout, stderr, code := m.toolprocd(t, "logs", "-f", strings.TrimSpace(id))
			require.Equal(t, tt.code, code, stderr)
			require.Equal(t, tt.out, stdout)
			require.Empty(t, stderr)
		})
	}
	t.Run("here", func(t *testing.T) {
		dir := t.TempDir()
		cmd := m.command("run", "pwd; echo $TOOLPROCD_TEST; echo $TOOLPROCD_TEST_TOKEN; false")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "TOOLPROCD_TEST=passed", "TOOLPROCD_TEST_TOKEN=secret")
		id, err := cmd.Output()
		require.NoError(t, err)
		stdout, stderr, code := m.toolprocd(t, "logs", "-f", strings.TrimSpace(string(id)))
		require.Equal(t, 1, code)
		require.Equal(t, dir+"\npassed\n\n", stdout)
		require.Contains(t, stderr, "did not get TOOLPROCD_TEST_TOKEN")
	})
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// A running is a command of toolprocd that runs. Its output is read line by line.
type runningCommand struct {
	*exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

func (m *machine) start(t *testing.T, command string, args ...string) *runningCommand {
	t.Helper()
	r := &runningCommand{Cmd: m.command(command, args...)}
	out, err := r.StdoutPipe()
	require.NoError(t, err)
	r.Stderr, r.lines = &r.stderr, bufio.NewScanner(out)
	require.NoError(t, r.Start())
	t.Cleanup(func() { _ = r.Process.Kill() })
	return r
}

// says waits for the next line.
func (r *runningCommand) says(t *testing.T, want string) {
	t.Helper()
	require.True(t, r.lines.Scan(), "it has ended: %s", &r.stderr)
	require.Equal(t, want, r.lines.Text())
}

// ends waits for the end and returns the code.
func (r *runningCommand) ends(t *testing.T) int {
	t.Helper()
	for r.lines.Scan() {
		require.Fail(t, "more output", r.lines.Text())
	}
	var exit *exec.ExitError
	if err := r.Wait(); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return r.ProcessState.ExitCode()
}

// A person sees what the chats of a client run, and ends it.
func TestPerson(t *testing.T) {
	m := newMachine(t)
	c := m.client(t)
	mark := filepath.Join(t.TempDir(), "go")
	begin(t, c.Chat("a"), "web", "echo ready; exec sleep 1000 # \x1b[31mred\ntwo")
	begin(t, c.Chat("b c"), "web", "echo ready; exec sleep 1000")
	begin(t, c.Chat("a"), "job", "echo ready; while [ ! -e "+mark+" ]; do sleep 0.01; done; echo done; exit 3")
	_, err := c.Start(t.Context(), procmgr.StartRequest{ID: "old", Command: "printf 'x%%\\ry%%'; exit 4", Wait: long})
	require.NoError(t, err)

	stdout, stderr, code := m.toolprocd(t, "ps")
	require.Zero(t, code)
	require.Empty(t, stderr)
	lines := strings.Split(stdout, "\n")
	require.Len(t, lines, 5, stdout)
	require.Equal(t, []string{"ID", "CHAT", "STATE", "PID", "ELAPSED", "COMMAND"}, strings.Fields(lines[0]))
	require.Regexp(t, `^web  a     running  \d+ +\d+s +echo ready; exec sleep 1000 # .\[31mred two$`, lines[1])
	require.NotContains(t, stdout, "\x1b")
	require.NotContains(t, stdout, "old")
	stdout, _, _ = m.toolprocd(t, "ps", "-a")
	require.Regexp(t, `old  -     exited 4`, stdout)

	stdout, _, code = m.toolprocd(t, "logs", "old")
	require.Zero(t, code)
	require.Equal(t, "x%\ny%", stdout)
	_, stderr, code = m.toolprocd(t, "kill", "old")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "old has ended already (exited 4)")

	for _, command := range []string{"logs", "kill"} {
		_, stderr, code = m.toolprocd(t, command, "web")
		require.Equal(t, 1, code)
		require.Contains(t, stderr, "several chats have a process web; name the chat with -chat")
	}
	stdout, stderr, code = m.toolprocd(t, "logs", "-chat", "b c", "web")
	require.Zero(t, code, stderr)
	require.Equal(t, "ready\n", stdout)
	for chat, signal := range map[string][]string{"a": {"-s", "KILL"}, "b c": {"-s", "INT"}} {
		_, stderr, code = m.toolprocd(t, "kill", append(signal, "-chat", chat, "web")...)
		require.Zero(t, code, stderr)
		require.Eventually(t, func() bool {
			out, err := c.Chat(chat).Output(t.Context(), "web", procmgr.OutputRequest{})
			return err == nil && out.Process.State == procmgr.Exited
		}, long, 10*time.Millisecond)
	}

	// Ctrl-C ends the look, and not the process.
	r := m.start(t, "logs", "-f", "job")
	r.says(t, "ready")
	require.NoError(t, r.Process.Signal(os.Interrupt))
	require.Equal(t, 130, r.ends(t))
	r = m.start(t, "logs", "-f", "job")
	r.says(t, "ready")
	require.NoError(t, os.WriteFile(mark, nil, 0o600))
	r.says(t, "done")
	require.Equal(t, 3, r.ends(t))

	// What the person runs and lists is also the client's.
	_, stderr, code = m.toolprocd(t, "run", "exec sleep 1000")
	require.Zero(t, code, stderr)
	_, stderr, code = m.toolprocd(t, "stop")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "what lives, 1 in number")
	list, err := c.List(t.Context(), procmgr.ListRequest{State: procmgr.Running})
	require.NoError(t, err)
	require.Len(t, list.Processes, 1)
	_, stderr, code = m.toolprocd(t, "kill", "-s", "KILL", list.Processes[0].ID, "no-such")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "there is no process no-such")
	require.ErrorIs(t, syscall.Kill(list.Processes[0].PID, 0), syscall.ESRCH)
}

// pidOf returns a pid that a command has written to a file.
func pidOf(t testing.TB, file string) int {
	t.Helper()
	var pid int
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && pid > 0
	}, long, time.Millisecond)
	return pid
}

// Who only looks starts no keeper, and makes no directory.
func TestLooksStartNoKeeper(t *testing.T) {
	m := newMachine(t)
	for command, want := range map[string]struct {
		says string
		code int
		args []string
	}{
		"ps":      {"nothing runs in the keeper of " + m.dir, 0, nil},
		"logs":    {"there is no process x", 1, []string{"x"}},
		"kill":    {"there is no process x", 1, []string{"x"}},
		"upgrade": {"no keeper runs", 1, nil},
		"stop":    {"", 0, nil},
	} {
		stdout, stderr, code := m.toolprocd(t, command, want.args...)
		require.Equal(t, want.code, code, "%s: %s", command, stderr)
		require.Contains(t, stderr, want.says, command)
		if command == "ps" {
			require.Equal(t, "ID  CHAT  STATE  PID  ELAPSED  COMMAND\n", stdout)
		}
		require.NoDirExists(t, m.dir, command)
	}
}
