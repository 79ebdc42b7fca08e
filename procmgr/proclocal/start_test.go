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
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	missing := filepath.Join(t.TempDir(), "no", "such")
	l := newLocal(t, nil)
	tests := []struct {
		name string
		req  procmgr.StartRequest
		says string
	}{
		{"no command", procmgr.StartRequest{}, "the command is empty"},
		{"blank command", procmgr.StartRequest{Command: " \n"}, "the command is empty"},
		{"NUL in the command", procmgr.StartRequest{Command: "echo \x00"}, "NUL"},
		{"too long", procmgr.StartRequest{Command: ": " + strings.Repeat("x", 128<<10)}, "131072"[:3]},
		{"no such directory", procmgr.StartRequest{Command: "true", WorkDir: missing}, "no such directory: " + missing + "; name one that exists"},
		{"directory is a file", procmgr.StartRequest{Command: "true", WorkDir: file}, "not a directory: " + file},
		{"NUL in the directory", procmgr.StartRequest{Command: "true", WorkDir: "/\x00"}, "NUL"},
		{"empty variable", procmgr.StartRequest{Command: "true", Env: map[string]string{"": "x"}}, "variable"},
		{"= in a variable", procmgr.StartRequest{Command: "true", Env: map[string]string{"A=B": "x"}}, `"A=B"`},
		{"NUL in a value", procmgr.StartRequest{Command: "true", Env: map[string]string{"A": "\x00"}}, `"A"`},
		{"bad ID", procmgr.StartRequest{ID: "../x", Command: "true"}, `"../x"`},
		{"long ID", procmgr.StartRequest{ID: strings.Repeat("x", 65), Command: "true"}, "65 bytes"},
		{"environment too long", procmgr.StartRequest{Command: "true", Env: map[string]string{"A": strings.Repeat("x", 200<<10)}}, "longer than the system takes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "environment too long" {
				needs(t, "limit of the environment")
			}
			out, err := l.Start(t.Context(), tt.req)
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, "procmgr: start")
			require.Empty(t, out.Process.ID, "nothing was started")
		})
	}
	all := list(t, l)
	require.Empty(t, all)
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

func TestStartShell(t *testing.T) {
	t.Run("wrapped", func(t *testing.T) {
		needs(t, "nice")
		l := newLocal(t, &proclocal.Options{Shell: []string{"nice", "-n", "19", "sh", "-c"}})
		require.Equal(t, "19\n", run(t, l, "nice").Text)
	})
	t.Run("missing", func(t *testing.T) {
		l := newLocal(t, &proclocal.Options{Shell: []string{"no-such-shell", "-c"}})
		_, err := l.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.ErrorContains(t, err, `"no-such-shell"`)
	})
	t.Run("moved", func(t *testing.T) {
		needs(t, "scripts that are programs")
		first, second := t.TempDir(), t.TempDir()
		t.Setenv("PATH", first+":"+second+":"+os.Getenv("PATH"))
		write := func(dir, says string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "my-shell"), []byte("#!/bin/sh\necho "+says+"\n"), 0o700))
		}
		write(first, "first")
		l := newLocal(t, &proclocal.Options{Shell: []string{"my-shell", "-c"}})
		require.Equal(t, "first\n", run(t, l, "x").Text)
		write(second, "second")
		require.NoError(t, os.Remove(filepath.Join(first, "my-shell")))
		require.Equal(t, "second\n", run(t, l, "x").Text)
		require.NoError(t, os.Remove(filepath.Join(second, "my-shell")))
		_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "x"})
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.ErrorContains(t, err, `"my-shell" is not there`)
	})
	t.Run("cannot be executed", func(t *testing.T) {
		shell := filepath.Join(t.TempDir(), "shell.exe")
		require.NoError(t, os.WriteFile(shell, []byte("\x7fELF nonsense"), 0o700))
		l := newLocal(t, &proclocal.Options{Shell: []string{shell}})
		_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true"})
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.ErrorContains(t, err, shell)
	})
}
