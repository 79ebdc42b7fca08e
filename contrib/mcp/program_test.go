package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// program returns a command that runs this program in dir.
func program(t *testing.T, dir string, arguments ...string) *exec.Cmd {
	t.Helper()
	newLocal(t) // skips the test if no command can run
	name := filepath.Join(t.TempDir(), programName)
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, name))
	ctx, cancel := context.WithTimeout(context.Background(), 4*long) // t.Context ends before the program does
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // SIGKILL would leave its commands behind
	cmd.Dir = dir
	return cmd
}

// pid waits until a command has written its PID to a file.
func pid(t *testing.T, name string) int {
	t.Helper()
	waitForFile(t, name)
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(content)))
	require.NoError(t, err)
	return n
}

// alive reports whether a process runs. A process that has ended does not run,
// even if the first process of the machine has not collected it yet.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		_, state, _ := bytes.Cut(stat, []byte(") "))
		return !bytes.HasPrefix(state, []byte("Z"))
	}
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// piped starts a program with pipes for its stdin and stdout. What it writes to stderr can
// be read when it has ended.
func piped(t *testing.T, cmd *exec.Cmd) (stdin io.WriteCloser, stdout io.ReadCloser, stderr *bytes.Buffer) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err = cmd.StdoutPipe()
	require.NoError(t, err)
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	return stdin, stdout, stderr
}

// commands leave processes that are hard to end: one ignores SIGTERM, the shell
// of one is gone, and a call waits for one.
var commands = map[string]args{
	"stubborn":   {"command": "trap '' TERM; echo $$ > s && mv s stubborn; while :; do sleep 1; done", "run_in_background": true},
	"left":       {"command": "sh -c 'echo $$ > l && mv l left; exec sleep 1000' &", "run_in_background": true},
	"foreground": {"command": "trap '' TERM; echo $$ > f && mv f foreground; while :; do sleep 1; done", "timeout": "1h"},
}

// startCommands lets a client start the commands. It returns their PIDs, and a
// channel that gets the result of the foreground command.
func startCommands(t *testing.T, c *client, dir string) ([]int, <-chan *mcp.CallToolResult) {
	t.Helper()
	var pids []int
	answered := make(chan *mcp.CallToolResult, 1)
	for name, arguments := range commands {
		if name == "foreground" {
			go func() { // ends with the session, or the test
				answer, _ := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: arguments})
				answered <- answer
			}()
		} else {
			_, isError := c.call(t, "execute", arguments)
			require.False(t, isError)
		}
		pids = append(pids, pid(t, filepath.Join(dir, name)))
	}
	return pids, answered
}

// patience is how long clients wait: some close stdin, wait that long, send
// SIGTERM, wait as long again and send SIGKILL.
const patience = 2 * time.Second

// Nothing is left, before the client loses patience, when it closes stdin or stops reading,
// and when a signal comes.
func TestStdioEnds(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"stdin", "stdout", "SIGTERM", "SIGHUP"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			logs := filepath.Join(t.TempDir(), "logs")
			cmd := program(t, dir, "-log-dir", logs, "-allow-env", "X_TOKEN,ALLOWED_*")
			cmd.Env = append(os.Environ(), "ALLOWED_TOKEN=seen", "OTHER_TOKEN=unseen")
			stdin, stdout, stderr := piped(t, cmd)
			c := connect(t, &mcp.IOTransport{Reader: stdout, Writer: unclosed{stdin}}, nil)
			res, isError := c.call(t, "execute", args{"command": "pwd; echo $ALLOWED_TOKEN $OTHER_TOKEN; cat; sleep 1000 &"})
			require.False(t, isError)
			require.Equal(t, dir+"\nseen\n", res.Output, "it runs where it was started, and stdin is not the protocol's")
			require.True(t, strings.HasPrefix(res.LogPath, logs), res.LogPath)
			pids, _ := startCommands(t, c, dir)
			began := time.Now()
			switch by {
			case "stdin":
				require.NoError(t, stdin.Close())
			case "stdout":
				require.NoError(t, stdout.Close())
				_, err := stdin.Write([]byte(`{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n"))
				require.NoError(t, err)
			case "SIGTERM":
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			case "SIGHUP":
				require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
			}
			require.NoError(t, cmd.Wait(), stderr)
			require.Less(t, time.Since(began), 2*patience)
			require.Empty(t, stderr.String())
			for _, pid := range pids {
				require.False(t, alive(pid))
			}
		})
	}
}

// unclosed ignores Close: the test closes the pipe itself.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// startHTTP starts a server over HTTP. terminate ends it.
func startHTTP(t *testing.T, dir string) (url, token string, terminate func()) {
	t.Helper()
	cmd := program(t, t.TempDir(), "-http", ":0", "-workdir", dir)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := false
	terminate = func() {
		if !ended {
			ended = true
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, cmd.Wait())
		}
	}
	t.Cleanup(terminate)
	lines := bufio.NewScanner(stderr)
	for url == "" && lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "mcp: ")
		if given, ok := strings.CutPrefix(line, "Authorization: Bearer "); ok {
			token = given
		}
		if given, ok := strings.CutPrefix(line, "listening on "); ok {
			url = given
		}
	}
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/mcp$`, url, "other machines are not let in unasked")
	require.GreaterOrEqual(t, len(token), 26)
	return url, token, terminate
}

// A server that is stopped answers a waiting call, and leaves nothing behind.
func TestHTTPSignaled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, token, terminate := startHTTP(t, dir)
	c := overHTTP(t, url, token)
	pids, answered := startCommands(t, c, dir)
	terminate()
	answer := <-answered
	require.NotNil(t, answer)
	res, _ := read(t, answer)
	require.False(t, res.Success)
	require.Equal(t, "exited", res.State)
	for _, pid := range pids {
		require.False(t, alive(pid))
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	file, keeper := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "keeper")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, test := range []struct {
		name, want string
		arguments  []string
	}{
		{"no such directory", "no such directory: /no/such/directory", []string{"-workdir", "/no/such/directory"}},
		{"no directory", "not a directory", []string{"-workdir", file}},
		{"no such directory for a keeper", "no such file", []string{"-keep", keeper, "-workdir", "/no/such/directory"}},
		{"no directory for a keeper", "not a directory", []string{"-keep", keeper, "-workdir", file}},
		{"an argument", `unexpected argument "x"`, []string{"x"}},
		{"no such flag", "flag provided but not defined", []string{"-x"}},
		{"no such token", "no such file", []string{"-http", "127.0.0.1:0", "-token-file", "/no/such/token"}},
		{"no address", "missing port", []string{"-http", "localhost"}},
		{"no such format", `there is no format "xml"; there are json and text`, []string{"-format", "xml"}},
		{"a keeper over HTTP, where no session is another one's", "-keep is for stdio", []string{"-keep", t.TempDir(), "-http", ":0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := program(t, t.TempDir(), test.arguments...).CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), test.want)
		})
	}
	require.NoDirExists(t, keeper, "no keeper was started")
	require.NoError(t, program(t, t.TempDir(), "-h").Run())
}

// A client may have compacted the conversation, which no server is told. So a command
// that runs again has its output again.
func TestRepeats(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		arguments []string
		whole     bool
	}{{nil, true}, {[]string{"-diffs"}, false}} {
		dir := t.TempDir()
		c := connect(t, &mcp.CommandTransport{Command: program(t, dir, tt.arguments...)}, nil)
		const command = "for i in 1 2 3 4 5; do echo line $i of an output of over a kilobyte; printf '%300s\\n' x; done"
		for run := range 3 {
			res, isError := c.call(t, "execute", args{"command": command, "timeout": "2m"})
			require.False(t, isError)
			require.Equal(t, tt.whole || run == 0, strings.Contains(res.Output, "line 3 of an output"), "%v, run %d: %q", tt.arguments, run, res.Output)
		}
	}
}
