package toolset_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
)

// Real programs ask, and nobody answers: the result says so.
func TestLocalQuestions(t *testing.T) {
	t.Parallel()
	const (
		stdin  = "nobody can answer it: stdin is empty"
		commit = "git init -q . && git config user.name a && git config user.email a@b && git commit -q --allow-empty -m a && git commit -q --allow-empty -m b && "
	)
	for _, tt := range []struct {
		name, program, command string
		success                bool
		want                   string
	}{
		{"npm", "npm", "HOME=$PWD npm init", false, stdin},
		{"getpass", "python3", `python3 -c 'import getpass; getpass.getpass("Token: ")'`, false, "asked for a password"},
		{"input", "python3", `python3 -c 'input("Name: ")'`, false, stdin},
		{"rm", "rm", "touch f; rm -i f", true, stdin},
		{"rm in the middle", "rm", "touch f; rm -i f; ls", true, stdin},
		{"read", "sh", `read -p "Continue? [y/N] " x; echo; echo "got '$x'"`, true, "`read` got an empty answer"},
		{"git add", "git", commit + "echo a > f && git add f && git commit -q -m c && echo b > f && git add -p", true, stdin},
		{"git rebase", "git", commit + "git rebase -i HEAD~1", true, "Nobody has edited the list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			testenv.Programs(t, tt.program)
			l := newLocal(t, nil)
			got := l.call(t.Context(), "execute", "command", tt.command, "timeout", "1m")
			require.Equal(t, tt.success, got["success"], got)
			require.Contains(t, got["note"], tt.want, got)
		})
	}
	t.Run("su", func(t *testing.T) {
		t.Parallel()
		testenv.Programs(t, "su")
		testenv.Root(t) // root becomes a user whom su asks for a password
		l := newLocal(t, nil)
		got := l.call(t.Context(), "execute", "command", `su nobody -s /bin/sh -c 'su root -c id'`, "workdir", "/", "timeout", "1m")
		require.Equal(t, false, got["success"], got)
		require.Contains(t, got["note"], "asked for a password", got)
	})
	t.Run("vim", func(t *testing.T) {
		t.Parallel()
		vim := ""
		for _, name := range []string{"vim.tiny", "vim"} {
			if _, err := exec.LookPath(name); err == nil {
				vim = name
			}
		}
		if vim == "" {
			testenv.Lacks(t, "vim", "there is neither vim.tiny nor vim")
		}
		l := newLocal(t, nil)
		got := l.call(t.Context(), "execute", "command", vim+" f", "timeout", "1500ms")
		require.Contains(t, got["note"], "waits for a person at a terminal", got)
		if id, ok := got["background_process_id"]; ok {
			require.Equal(t, "exited", l.call(t.Context(), "process_signal", "process_id", id, "signal", "kill")["state"])
		}
	})
	t.Run("files that no tool for files reads", func(t *testing.T) {
		t.Parallel()
		l := newLocal(t, &toolset.Options{ReadFileTool: "read_file"})
		require.NoError(t, os.WriteFile(filepath.Join(l.dir, "f"), []byte("a\tb\n"), 0o600))
		for command, want := range map[string]bool{"cat f": true, "cat -A f": false, "cat /proc/version": false, "cd /sys/kernel && cat ostype 2>/dev/null || cat /proc/self/stat": false} {
			got := l.call(t.Context(), "execute", "command", command)
			note, _ := got["note"].(string)
			require.Equal(t, want, strings.Contains(note, "read_file"), "%s: %s", command, note)
		}
	})
}
