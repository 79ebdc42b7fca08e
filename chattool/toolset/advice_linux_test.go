package toolset_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
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

// A command that is stopped looks like one that waits for an answer. The note
// says what it is, and not that it waits.
func TestLocalStopped(t *testing.T) {
	t.Parallel()
	manager := newHost(t, nil)
	l := &local{t: t, set: toolset.New(toolset.Static(manager.Chat("chat")), nil)}
	got := l.call(t.Context(), "execute", "command", "printf 'Overwrite? '; kill -STOP $$; echo on", "timeout", "1500ms")
	require.Contains(t, got["note"], "is stopped by a signal (SIGSTOP, SIGTSTP, SIGTTIN or SIGTTOU)")
	require.NotContains(t, got["note"], "answer")
	id, ok := got["background_process_id"].(string)
	require.True(t, ok)
	out, err := manager.Chat("chat").Output(t.Context(), id, procmgr.OutputRequest{})
	require.NoError(t, err)
	require.True(t, out.Process.Stopped)

	// What the note says continues it.
	l.call(t.Context(), "execute", "command", "kill -s CONT -- -"+strconv.Itoa(out.Process.PID))
	got = l.call(t.Context(), "process_output", "process_id", id, "wait_for", "on$")
	require.NotContains(t, got["note"], "stopped")
	require.Contains(t, got["output"], "on\n")
}

// A note names a command that ended its own shell, for real shells, pkill and
// pgrep. The pattern that it suggests does not end the shell.
func TestLocalSelfKill(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "pkill")
	for _, shell := range []string{"bash", "dash"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			manager := newHost(t, &proclocal.Options{Shell: []string{shell, "-c"}})
			l := &local{t: t, set: toolset.New(toolset.Static(manager.Chat("chat")), nil)}
			for _, tt := range []struct{ command, signal, search string }{
				{"pkill -f NAME; echo on", "SIGTERM", "pkill"},
				{"pkill -9 -f 'NAME' || true; echo on", "SIGKILL", "pkill"},
				{"kill $(pgrep -f NAME); echo on", "SIGTERM", "pgrep"},
				{"pgrep -f NAME | xargs kill -9; echo on", "SIGKILL", "pgrep"},
				{"pid=$(pgrep -f NAME); kill -9 $pid; echo on", "SIGKILL", "pgrep"},
				{"if pgrep -f NAME; then echo runs; fi", "", "pgrep"},
				{"pgrep -fa NAME; true", "", "pgrep"},
			} {
				// Nothing else on the machine has this in its command line.
				name := "toolproc" + strings.ToLower(procmgr.NewID())
				got := l.call(t.Context(), "execute", "command", strings.ReplaceAll(tt.command, "NAME", name))
				require.NotContains(t, got["output"], "on\n", tt.command)
				if tt.signal != "" {
					require.Equal(t, tt.signal, got["signal"], tt.command)
					require.Equal(t, "ended by "+tt.signal, got["error"], tt.command)
				}
				require.Contains(t, got["note"], "`"+tt.search+" -f "+name+"`", tt.command)
				other := "[t]" + name[1:]
				require.Contains(t, got["note"], tt.search+" -f '"+other+"'", tt.command)

				got = l.call(t.Context(), "execute", "command", strings.ReplaceAll(strings.ReplaceAll(tt.command, "'NAME'", "NAME"), "NAME", "'"+other+"'"))
				require.NotContains(t, got, "signal", tt.command)
				require.NotContains(t, got, "note", tt.command)
				require.NotContains(t, got["output"], "runs", tt.command)
			}
			got := l.call(t.Context(), "execute", "command", "kill -9 $$")
			require.Equal(t, "ended by SIGKILL", got["error"], "a tool of ours is not the only one")
		})
	}
}

// A model waits for a real server's port, and learns which process holds it.
func TestRealPort(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "python3")
	l := newLocal(t, nil)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	command := fmt.Sprintf("python3 -m http.server --bind 127.0.0.1 %d", port)
	server := l.call(t.Context(), "execute", "command", command, "run_in_background", true)["background_process_id"].(string)
	got := l.call(t.Context(), "process_output", "process_id", server, "wait_for_port", port, "wait_timeout", "60s")
	require.Contains(t, got["note"], fmt.Sprintf("It listens on port %d (127.0.0.1:%d, pid ", port, port))

	got = l.call(t.Context(), "execute", "command", command)
	require.EqualValues(t, 1, got["exit_code"])
	require.Contains(t, got["note"], fmt.Sprintf("Port %d is held by process %s of this chat (%q), pid ", port, server, command))
	l.call(t.Context(), "process_signal", "process_id", server, "signal", "kill")
}
