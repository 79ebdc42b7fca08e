package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/examples/internal/story"
	"github.com/toolproc/toolproc/procmgr"
)

// TestMain lets the test binary play the program, in all of its roles.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
		os.Exit(0)
	}
	exampletest.Main(m)
}

func TestTranscript(t *testing.T) {
	tmp := exampletest.Scratch(t)
	var out bytes.Buffer
	require.NoError(t, show(&out), "so far: %s", &out)
	exampletest.RequireNothingLeft(t, tmp)
	exampletest.RequireTranscript(t, out.String())
}

// If the show is stopped in the middle, it leaves nothing behind.
func TestShowStopped(t *testing.T) {
	tmp := exampletest.Scratch(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "show")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	exampletest.WaitFor(t, filepath.Join(tmp, "remote-*", "work", "ledger"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Contains(t, stderr.String(), "stopped before the end")
	exampletest.RequireNothingLeft(t, tmp)
}

// newStage runs a daemon until the test ends.
func newStage(t *testing.T) *stage {
	t.Helper()
	dir := exampletest.Scratch(t)
	s := newStageIn(dir, io.Discard, func() {})
	require.NoError(t, os.Mkdir(s.work, 0o700))
	require.NoError(t, writeKeys(dir, []string{"127.0.0.1"}))
	stop, err := s.serve(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	return s
}

// An agent that is stopped stops its foreground command too, and one that waits for a
// call ends.
func TestAgentStopped(t *testing.T) {
	s := newStage(t)
	client, err := connect(s.url, filepath.Join(s.keys, tokenName), filepath.Join(s.keys, certName))
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	for _, call := range []bool{true, false} {
		p, err := s.agent(t.Context(), "agent", "a")
		require.NoError(t, err)
		defer func() { _ = p.Process.Kill() }() // unless something fails, it has ended
		require.NoError(t, p.call(story.Execute("true", `"exit_code":0`)), "it runs")
		if call {
			require.NoError(t, p.send(story.Call{Tool: "execute", Arguments: `{"command":"touch one; exec sleep 1000","timeout":"10m"}`}))
			exampletest.WaitFor(t, filepath.Join(s.work, "one"))
		}
		require.NoError(t, p.Process.Signal(syscall.SIGTERM))
		said, err := io.ReadAll(p.out)
		require.NoError(t, err)
		require.Equal(t, call, strings.Contains(string(said), `"success":false`), "%s", said)
		require.Error(t, p.Wait())
	}
	page, err := client.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Len(t, page.Processes, 3)
	for _, p := range page.Processes {
		require.Equal(t, procmgr.Exited, p.State)
		if strings.Contains(p.Command, "touch one") {
			require.Equal(t, procmgr.CauseRequest, p.EndedBy)
		}
	}
}

// A client without the token is not let in. A client that does not trust the
// certificate does not send its token.
func TestStrangers(t *testing.T) {
	s := newStage(t)
	other := t.TempDir()
	require.NoError(t, writeKeys(other, []string{"127.0.0.1"}))
	for _, tt := range []struct{ name, token, cert, want string }{
		{"another token", other, s.keys, "the credentials are missing or wrong"},
		{"another certificate", s.keys, other, "certificate signed by unknown authority"},
	} {
		client, err := connect(s.url, filepath.Join(tt.token, tokenName), filepath.Join(tt.cert, certName))
		require.NoError(t, err, tt.name)
		_, err = client.Chat("a").Start(t.Context(), procmgr.StartRequest{Command: "touch one"})
		require.ErrorContains(t, err, tt.want, tt.name)
		require.NoError(t, client.Close())
	}
	require.NoFileExists(t, filepath.Join(s.work, "one"))
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, keys([]string{"-dir", dir}))
	require.ErrorIs(t, keys([]string{"-dir", dir}), os.ErrExist, "keys are not overwritten")
	require.ErrorContains(t, agent([]string{"-keys", dir}, nil, nil), "-chat is missing")
	if os.PathSeparator == '/' {
		require.NoError(t, os.Chmod(filepath.Join(dir, tokenName), 0o640))
		require.ErrorContains(t, agent([]string{"-keys", dir, "-chat", "a"}, nil, nil), "others can read")
	}
}
