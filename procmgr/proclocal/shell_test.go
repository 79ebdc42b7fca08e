package proclocal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// onPath makes PATH one directory with links to some programs, by the names
// that they have there.
func onPath(t *testing.T, links map[string]string) {
	t.Helper()
	needs(t, "links to a program under another name")
	dir := t.TempDir()
	for name, program := range links {
		file, err := exec.LookPath(program)
		require.NoError(t, err)
		file, err = filepath.EvalSymlinks(file)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(file, filepath.Join(dir, name)))
	}
	t.Setenv("PATH", dir)
}

// isBash prints "bash" if bash runs it, and nothing else.
const isBash = `printf %s "${BASH_VERSION:+bash}"`

// The shell that a Local tells is the one that runs its commands.
func TestDefaultShell(t *testing.T) {
	for _, tt := range []struct {
		name  string
		links map[string]string
		want  string
	}{
		{"bash", map[string]string{"bash": "bash", "sh": "dash"}, "bash"},
		{"bash alone", map[string]string{"bash": "bash"}, "bash"},
		{"no bash", map[string]string{"sh": "dash"}, "sh"},
		{"an sh that is bash", map[string]string{"sh": "bash"}, "bash"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, program := range tt.links {
				testenv.Programs(t, program)
			}
			onPath(t, tt.links)
			l := newLocal(t, nil)
			for _, m := range []procmgr.Manager{l, l.Chat("a")} {
				machine, err := m.Describe(t.Context())
				require.NoError(t, err)
				require.Equal(t, tt.want, machine.Shell)
				require.Equal(t, tt.want == "bash", run(t, m, isBash).Text == "bash")
			}
		})
	}
}

func TestShell(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for shell, want := range map[string]string{
		"bash -c":                      "bash",
		"dash -c":                      "dash",
		"/usr/bin/bash -c":             "bash",
		"bash --norc -eu -o posix -c":  "bash",
		"bash -euo pipefail -c":        "bash",
		"nice -n 10 sh -c":             "sh",
		"env -i PATH=/bin bash -c":     "bash",
		"bwrap --ro-bind / / bash -c":  "bash",
		"sudo -u ada -- zsh -c":        "zsh",
		"busybox sh -c":                "ash",
		"bash -c sh -c":                "sh",
		"su ada -c":                    "",
		"su -s /bin/bash ada -c":       "",
		"ssh host":                     "",
		"ssh sh bash.example":          "",
		"python3 -c":                   "",
		"sh -c exec\u00a0bash\u00a0-c": "", // one word, which is a script
		"cmd /d /s /c":                 "cmd",
		"pwsh -ExecutionPolicy x -c":   "pwsh",
	} {
		words := strings.Split(shell, " ")
		if _, err := exec.LookPath(words[0]); err != nil {
			if strings.Contains(words[0], "/") {
				continue // a path of Unix
			}
			require.NoError(t, os.WriteFile(filepath.Join(bin, words[0]+".exe"), nil, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(bin, words[0]), nil, 0o700))
		}
		l := newLocal(t, &proclocal.Options{Shell: words})
		for _, m := range []procmgr.Manager{l, l.Chat("a")} {
			machine, err := m.Describe(t.Context())
			require.NoError(t, err)
			require.Equal(t, procmgr.Description{Shell: want, OS: runtime.GOOS}, machine, shell)
		}
	}
}

// bash reads a file before a command in two cases. The one is what BASH_ENV is
// for, and the policy decides about that; the other is a bash that takes itself
// for the session of an SSH connection.
func TestStartupFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the default shell is not a bash of Unix")
	}
	testenv.Programs(t, "bash")
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{".bashrc", ".bash_profile", ".profile", ".bash_env"} {
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte("echo read "+name+"\n"), 0o600))
	}
	t.Run("a program that ssh has started", func(t *testing.T) {
		t.Setenv("SSH_CLIENT", "192.0.2.1 50000 22")
		for _, level := range []string{"", "0", "1", "x"} {
			t.Setenv("SHLVL", level)
			if level == "" {
				require.NoError(t, os.Unsetenv("SHLVL"))
			}
			require.Equal(t, "ok\n", run(t, newLocal(t, nil), "echo ok").Text, "SHLVL=%s", level)
		}
	})
	t.Run("BASH_ENV", func(t *testing.T) {
		t.Setenv("BASH_ENV", filepath.Join(home, ".bash_env"))
		require.Equal(t, "read .bash_env\nok\n", run(t, newLocal(t, nil), "echo ok").Text)
		without := &proclocal.Options{Env: envpolicy.Policy{Exclude: []string{"BASH_ENV"}}}
		require.Equal(t, "ok\n", run(t, newLocal(t, without), "echo ok").Text)
	})
}

// A host without a PATH finds its shell, and the command its programs.
func TestHostWithoutPath(t *testing.T) {
	needs(t, "default PATH")
	for name, clear := range map[string]func(t *testing.T){
		"unset": func(t *testing.T) { t.Setenv("PATH", ""); require.NoError(t, os.Unsetenv("PATH")) },
		"empty": func(t *testing.T) { t.Setenv("PATH", "") },
	} {
		t.Run(name, func(t *testing.T) {
			want := plainShell()
			clear(t)
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "planted"), []byte("#!/bin/sh\necho planted\n"), 0o700))
			l := newLocal(t, nil)
			d, err := l.Describe(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, d.Shell)
			out := start(t, l, procmgr.StartRequest{Command: "env | grep -c ^PATH=; planted 2>/dev/null || echo no", WorkDir: dir, Wait: long})
			require.Equal(t, "1\nno\n", out.Text)

			l = newLocal(t, &proclocal.Options{Shell: []string{"/bin/sh", "-c"}, Env: envpolicy.Policy{Exclude: []string{"PATH"}}})
			require.Equal(t, "0\n", run(t, l, "/usr/bin/env | /bin/grep -c ^PATH=").Text, "the policy decides")
		})
	}
}
