package proclocal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The output of a command right before its exit is the part that matters.
func TestStartOutputIsComplete(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Head: 1 << 20, Tail: 1 << 20})
	for range 100 {
		out := start(t, l, procmgr.StartRequest{
			Command: "seq 1 20000; echo the end",
			Wait:    long,
		})
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.True(t, strings.HasSuffix(out.Text, "\n20000\nthe end\n"), "the last line is missing: %q", out.Text[max(0, len(out.Text)-50):])
		require.Equal(t, int64(108894+8), out.Next)
	}
}

func TestStartRefuses(t *testing.T) {
	l := newLocal(t, nil)
	for says, req := range map[string]procmgr.StartRequest{
		"at most 131":                  {Command: ": " + strings.Repeat("x", 128<<10)},
		"unknown stdin":                {Command: "true", Stdin: "open"},
		"longer than the system takes": {Command: "true", Env: map[string]string{"A": strings.Repeat("x", 200<<10)}},
	} {
		t.Run(says, func(t *testing.T) {
			if req.Env != nil || strings.Contains(says, "131") {
				needs(t, "limit of its environment, and has another one for a command")
			}
			out, err := l.Start(t.Context(), req)
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.ErrorContains(t, err, says)
			require.Empty(t, out.Process.ID, "nothing was started")
		})
	}
	require.Empty(t, list(t, l))
}

// The longest command that the system takes runs.
func TestStartLongestCommand(t *testing.T) {
	needs(t, "room for so much; its own limit has a test of its own")
	l := newLocal(t, nil)
	command := "echo " + strings.Repeat("x", 128<<10-1-5)
	out := run(t, l, command)
	require.Equal(t, 0, *out.Process.ExitCode)
	require.Equal(t, int64(len(command)-5+1), out.Next)
}

// A shell that cannot run is refused, with its name.
func TestStartShell(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "shell.exe")
	require.NoError(t, os.WriteFile(broken, []byte("\x7fELF nonsense"), 0o700))
	for _, shell := range []string{"no-such-shell", broken} {
		l, err := proclocal.New(&proclocal.Options{Shell: []string{shell, "-c"}})
		if shell == broken {
			require.NoError(t, err)
			_, err = l.Start(t.Context(), procmgr.StartRequest{Command: "true"})
			require.NoError(t, l.Close())
		}
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.ErrorContains(t, err, shell)
	}
}
