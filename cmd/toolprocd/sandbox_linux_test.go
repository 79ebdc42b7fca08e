package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// boxed shows that commands and files of a client are held to the rules of a sandbox,
// and that the client is told of them.
func boxed(t *testing.T, c *prochttp.Client, files procfile.Files, work, outside string) {
	t.Helper()
	d, err := c.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, &procmgr.SandboxRules{Write: []string{work}, NoNetwork: true, NoLoopback: true}, d.Sandbox)
	for command, code := range map[string]int{
		`echo x >'` + work + `/f' && echo x >"$TMPDIR/f"`: 0,
		`echo x >'` + outside + `/f' || exit 3`:           3,
	} {
		out, err := c.Start(t.Context(), procmgr.StartRequest{Command: command, Wait: long})
		require.NoError(t, err)
		require.Equal(t, code, *out.Process.ExitCode, out.Text)
	}
	_, err = files.Write(t.Context(), procfile.WriteRequest{Path: work + "/g", Content: "x"})
	require.NoError(t, err)
	_, err = files.Write(t.Context(), procfile.WriteRequest{Path: outside + "/g", Content: "x"})
	require.ErrorIs(t, err, procmgr.ErrRefused)
	nothingIn(t, outside)
}

func nothingIn(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(dir + "/*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestServeInASandbox(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), program(), "serve", "-unix", t.TempDir()+"/s", "-write", work, "-no-network")
	temp := t.TempDir()
	cmd.Env = append(cmd.Environ(), "TMPDIR="+temp)
	address, _ := says(t, cmd, "listening on ")
	c, err := prochttp.NewClient("unix://"+address, nil)
	require.NoError(t, err)
	boxed(t, c, filesOf(t, "unix://"+address, nil), work, outside)
	require.NoError(t, c.Close())
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	// The directories of boxes go with them. The one they are in stays, empty.
	boxes, err := filepath.Glob(temp + "/toolproc-boxes-*")
	require.NoError(t, err)
	require.Len(t, boxes, 1)
	nothingIn(t, boxes[0])
}

// The keeper that the first stdio starts has the sandbox. Who asks for none or for
// another one is refused.
func TestKeeperInASandbox(t *testing.T) {
	m, work, outside := newMachine(t), t.TempDir(), t.TempDir()
	rules := []string{"-write", work, "-no-network"}
	for _, words := range [][]string{m.words("stdio", rules...), m.words("stdio", rules...)} {
		boxed(t, clientVia(t, words), filesVia(t, words), work, outside)
	}

	id, stderr, code := m.toolprocd(t, "run", append(rules, "echo x >'"+outside+"/f' || exit 3")...)
	require.Zero(t, code, stderr)
	_, _, code = m.toolprocd(t, "logs", "-f", strings.TrimSpace(id))
	require.Equal(t, 3, code)
	_, stderr, code = m.toolprocd(t, "run", "-write", outside, "echo x >'"+outside+"/f'")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "runs with another sandbox or none: use the same flags")
	for _, words := range [][]string{m.words("stdio", "-no-network"), m.words("stdio")} {
		_, err := clientVia(t, words).Describe(t.Context())
		require.ErrorContains(t, err, "runs with another sandbox or none")
	}
	nothingIn(t, outside)
}

// What the sandbox cannot be is an error, and nothing runs without it.
func TestSandboxThatCannotBe(t *testing.T) {
	m, work := newMachine(t), t.TempDir()
	for want, args := range map[string][]string{
		"Write has ":         {"-write", work + "/none"},
		"the path is empty":  {"-write", ""},
		"Protect":            {"-write", work, "-protect", work},
		"Hide":               {"-hide", work},
		"invalid boolean va": {"-no-network=never"},
	} {
		for _, command := range []string{"serve", "stdio", "run"} {
			args := append(args, map[string][]string{"serve": {"-unix", work + "/s"}, "run": {"touch '" + work + "/ran'"}}[command]...)
			words := append([]string{command, "-dir", m.dir}, args...)
			if command == "serve" {
				words = append([]string{command}, args...)
			}
			out, err := exec.CommandContext(t.Context(), program(), words...).CombinedOutput()
			require.Error(t, err, "%s %v", command, args)
			require.Contains(t, string(out), want, "%s %v", command, args)
		}
	}
	require.NoDirExists(t, m.dir, "no keeper was started")
	nothingIn(t, work)
}
