package toolset_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Real programs ask and get no answer: the result says so.
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
	t.Run("files that no tool for files reads", func(t *testing.T) {
		t.Parallel()
		l := newLocal(t, &toolset.Options{Files: toolset.FileTools{Read: "read_file"}})
		require.NoError(t, os.WriteFile(filepath.Join(l.dir, "f"), []byte("a\tb\n"), 0o600))
		for command, want := range map[string]bool{"cat f": true, "cat -A f": false, "cat /proc/version": false, "cd /sys/kernel && cat ostype 2>/dev/null || cat /proc/self/stat": false} {
			got := l.call(t.Context(), "execute", "command", command)
			note, _ := got["note"].(string)
			require.Equal(t, want, strings.Contains(note, "read_file"), "%s: %s", command, note)
		}
	})
}

// An exit code of bash with more than one meaning has no note that tells the wrong one.
func TestLocalExitCodes(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "bash")
	manager := newHost(t, &proclocal.Options{Shell: []string{"bash", "-c"}})
	l := &local{t: t, set: newSet(toolset.Static(manager.Chat("chat")), nil)}
	for _, tt := range []struct {
		command string
		code    int
		want    string
	}{
		{"set -u; echo $NOPE", 127, ""},
		{": ${NOPE:?}", 127, ""},
		{": ${NOPE:?name the host to deploy to}", 127, ""},
		{"/tmp", 126, ""},
		{"no-such-program 2>/dev/null", 127, "exit_code 127 usually means that a command was not found:"},
		{"set -u; no-such-program$NOPE 2>/dev/null", 127, ""},
	} {
		got := l.call(t.Context(), "execute", "command", tt.command)
		require.EqualValues(t, tt.code, got["exit_code"], tt.command)
		note, _ := got["note"].(string)
		require.True(t, strings.HasPrefix(note, tt.want) && (note == "") == (tt.want == ""), "%s: %s", tt.command, note)
	}
}

// On a full disk a log may have no byte. Nothing names it, since a search of it finds
// nothing whatever the command has printed.
func TestLocalLogWithoutBytes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "small")
	require.NoError(t, os.Mkdir(dir, 0o700))
	testenv.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
	manager := newHost(t, &proclocal.Options{LogDir: dir})
	l := &local{t: t, set: newSet(toolset.Static(manager.Chat("chat")), nil)}
	got := l.call(t.Context(), "execute", "command", "seq 100000")
	require.Contains(t, got["note"], "only the beginning of it is in log_path")
	got = l.call(t.Context(), "execute", "command", "seq 100000 | sed 's/$/ x/'")
	require.NotContains(t, got, "log_path")
	require.NotContains(t, got["note"], "grep")
	require.Contains(t, got["note"], "without a log (nothing could be written: no space left on device), the middle of a long output is not kept")
}

// A search for a command line finds the shell that runs it, unless the pattern is written
// as the description of execute says.
func TestSearchForACommandLine(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "pgrep")
	l := newLocal(t, nil)
	i := slices.IndexFunc(l.set.Definitions(), func(d toolset.Definition) bool { return d.Name == "execute" })
	require.Contains(t, l.set.Definitions()[i].Description, "pgrep -f '[x]yz'")
	// Nothing else on the machine has this in its command line.
	name := "toolproc" + strings.ToLower(procmgr.NewID())
	for pattern, want := range map[string]string{name: "runs\n", "'[t]" + name[1:] + "'": "ended\n"} {
		got := l.call(t.Context(), "execute", "command", "if pgrep -f "+pattern+" >/dev/null; then echo runs; else echo ended; fi")
		require.Equal(t, want, got["output"], pattern)
		require.NotContains(t, got, "note")
	}
}

// A model waits for a real server's port.
func TestRealPort(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "python3")
	l := newLocal(t, nil)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	command := fmt.Sprintf("python3 -m http.server --bind 127.0.0.1 %d", port)
	server := l.call(t.Context(), "execute", "command", command, "run_in_background", true)["process_id"].(string)
	got := l.call(t.Context(), "process_output", "process_id", server, "wait_for_port", port, "wait_timeout", "60s")
	require.Contains(t, got["note"], fmt.Sprintf("It listens on port %d (127.0.0.1:%d, pid ", port, port))
	l.call(t.Context(), "process_signal", "process_id", server, "signal", "kill")
}
