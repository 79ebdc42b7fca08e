//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// local is the tools on real processes, in a directory of the test's own.
type local struct {
	t       *testing.T
	set     *toolset.Set
	dir     string
	manager procmgr.Manager // of the chat
}

func newLocal(t *testing.T, opts *toolset.Options) *local {
	t.Helper()
	dir := t.TempDir()
	options := &proclocal.Options{WorkDir: dir}
	// Whatever the tests' own environment has, this alone is withheld.
	options.Env.Allow, options.Env.Exclude = []string{"*"}, []string{"DEPLOY_TOKEN"}
	manager := newHost(t, options)
	chat := manager.Chat("chat")
	return &local{t: t, dir: dir, set: newSet(toolset.Static(chat), opts), manager: chat}
}

// call makes one call; pairs are its arguments.
func (l *local) call(ctx context.Context, tool string, pairs ...any) map[string]any {
	l.t.Helper()
	res := l.set.Call(ctx, toolset.Call{ID: "call", Name: tool, Arguments: []byte(arguments(l.t, pairs...))})
	got := contents(l.t, res)
	got["isError"] = res.IsError
	return got
}

func TestLocalExecute(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "f"), []byte("one\ntwo\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(l.dir, "sub"), 0o700))
	for _, tt := range []struct {
		name, command, workdir string
		output                 string
		exitCode               int
		note                   string
	}{
		{name: "success", command: "echo hi", output: "hi\n"},
		{name: "failure", command: "echo no >&2; exit 3", output: "no\n", exitCode: 3},
		{name: "killed", command: "kill -9 $$", exitCode: 137},
		{name: "both streams", command: "true &> /dev/null"},
		{name: "begins with a dash", command: "-x 2>/dev/null", exitCode: 127, note: "exit_code 127"},
		{name: "file dump after cd", command: "cd sub && head -n 1 ../f", output: "one\n"},
		{name: "write", command: "cat > g <<EOF\nx & y\nEOF\ncat < g", output: "x & y\n"},
		{name: "workdir", command: "ls ../f", workdir: "sub", output: "../f\n"},
		{name: "several lines", command: "a=1\nif [ $a = 1 ]; then\n  echo yes # no &\nfi\n", output: "yes\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := l.call(t.Context(), "execute", "command", tt.command, "workdir", tt.workdir)
			require.Equal(t, false, got["isError"], got)
			require.Equal(t, tt.output, got["output"])
			require.EqualValues(t, tt.exitCode, got["exit_code"])
			require.Equal(t, tt.exitCode == 0, got["success"])
			require.Equal(t, "exited", got["state"])
			require.NotContains(t, got, "process_id")
			note, _ := got["note"].(string)
			require.Contains(t, note, tt.note)
			require.Equal(t, tt.note == "", note == "")
		})
	}
}

// A command that outlasts its timeout goes on, and is found again.
func TestLocalTimeout(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	fifo := filepath.Join(l.dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	got := l.call(t.Context(), "execute", "command", "echo first; cat fifo; echo last; exit 4", "timeout", 0.2)
	require.Equal(t, false, got["success"])
	require.Equal(t, "running", got["state"])
	require.NotContains(t, got, "exit_code")
	require.Equal(t, "first\n", got["output"])
	id := got["process_id"].(string)
	require.NotEmpty(t, id)

	list := l.call(t.Context(), "process_list")
	require.Equal(t, id, list["processes"].([]any)[0].(map[string]any)["process_id"])

	require.NoError(t, os.WriteFile(fifo, []byte("second\n"), 0o600))
	next := l.call(t.Context(), "process_output", "process_id", id, "since", got["next_offset"], "wait_timeout", "10s")
	require.Equal(t, "second\nlast\n", next["output"])
	require.EqualValues(t, 4, next["exit_code"])
	require.Equal(t, "exited", next["state"])
	require.NotContains(t, next, "process_id")

	whole := l.call(t.Context(), "process_output", "process_id", id)
	require.Equal(t, "first\nsecond\nlast\n", whole["output"], "reading consumes nothing")
}

func TestLocalBackground(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	for _, arguments := range [][]any{
		{"command", "echo up; exec sleep 100 &"},
		{"command", "A=1; exec sh -c 'echo ready $0; exec sleep 100' $A & # the server"},
		{"command", "echo ready 1; exec sleep 100", "run_in_background", true},
	} {
		got := l.call(t.Context(), "execute", arguments...)
		require.Equal(t, true, got["success"], got)
		id := got["process_id"].(string)
		if strings.HasPrefix(arguments[1].(string), "echo up") {
			require.Equal(t, "detached", got["state"])
			require.NotContains(t, got["note"], "taken off")
		} else {
			require.Equal(t, "running", got["state"])
			ready := l.call(t.Context(), "process_output", "process_id", id, "wait_for", "^ready", "wait_timeout", "10s")
			require.Equal(t, "ready 1\n", ready["output"])
			require.Contains(t, ready["note"], "wait_for matched")
		}
		ended := l.call(t.Context(), "process_signal", "process_id", id, "signal", "SIGTERM")
		require.Equal(t, true, ended["success"])
		require.Equal(t, "exited", ended["state"], ended)
		again := l.call(t.Context(), "process_signal", "process_id", id, "signal", "kill")
		require.Equal(t, true, again["success"])
		require.Contains(t, again["note"], "already ended")
	}
	t.Run("fails at once", func(t *testing.T) {
		got := newLocal(t, nil).call(t.Context(), "execute", "command", "no-such-program &")
		require.Equal(t, false, got["success"])
		require.EqualValues(t, 127, got["exit_code"])
	})
}

// A stop leaves no foreground command behind, not even one that ignores the
// signal to end.
func TestLocalCanceled(t *testing.T) {
	t.Parallel()
	// ready returns a context that ends once the command has written to "up".
	ready := func(t *testing.T, l *local) context.Context {
		up := filepath.Join(l.dir, "up")
		require.NoError(t, syscall.Mkfifo(up, 0o600))
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		go func() { // ends with the write
			defer cancel()
			_, _ = os.ReadFile(up)
		}()
		return ctx
	}
	for _, tt := range []struct{ name, command, want string }{
		{"ends when asked", "echo up; echo > up; sleep 100", "the command was stopped"},
		{"ignores it", `trap "" TERM; echo up; echo > up; while :; do sleep 100; done`, "the command was killed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t, nil)
			got := l.call(ready(t, l), "execute", "command", tt.command, "timeout", "1m")
			require.Equal(t, false, got["isError"])
			require.Equal(t, false, got["success"])
			require.Contains(t, got["error"], tt.want)
			require.Equal(t, "exited", got["state"])
			require.Equal(t, "up\n", got["output"])
			list := l.call(t.Context(), "process_list")
			require.Equal(t, "exited", list["processes"].([]any)[0].(map[string]any)["state"])
		})
	}
	t.Run("background is left alone", func(t *testing.T) {
		t.Parallel()
		l := newLocal(t, nil)
		got := l.call(ready(t, l), "execute", "command", "echo > up; exec sleep 100", "run_in_background", true)
		require.Equal(t, false, got["success"])
		require.Contains(t, got["error"], "left alone")
		require.Equal(t, "running", got["state"])
		ended := l.call(t.Context(), "process_signal", "process_id", got["process_id"], "signal", "kill")
		require.Equal(t, "exited", ended["state"])
		require.Equal(t, "SIGKILL", ended["signal"])
	})
}

// The notes on real commands are true.
func TestLocalAdvice(t *testing.T) {
	t.Setenv("ADVICE_API_KEY", "hidden")
	dir := t.TempDir()
	manager := newHost(t, &proclocal.Options{LogDir: filepath.Join(dir, "all logs"), WorkDir: dir})
	l := &local{t: t, set: newSet(toolset.Static(manager.Chat("chat")), nil)}

	got := l.call(t.Context(), "execute", "command", "sh -c 'echo broken; exit 3' | tail -n 5")
	require.Equal(t, true, got["success"])
	require.Contains(t, got["note"], "exit_code is that of tail and does not tell whether `sh -c 'echo broken; exit 3'` succeeded.")

	got = l.call(t.Context(), "execute", "command", `echo "key: $ADVICE_API_KEY"`)
	require.Equal(t, "key: \n", got["output"])
	require.Contains(t, got["note"], "ADVICE_API_KEY is set on the host")

	got = l.call(t.Context(), "execute", "command", "printf 'Continue? [y/N] '; read -r answer")
	require.Equal(t, false, got["success"])
	require.Contains(t, got["note"], "stdin is empty")

	got = l.call(t.Context(), "execute", "command", "yes again | head -n 10000")
	require.Regexp(t, `^again\n\.\.\. \[the line above \d+ times more\] \.\.\.\n`, got["output"])
	require.Less(t, len(got["output"].(string)), 300)

	// The log has the line that the result misses, under the path that the
	// note gives to a shell.
	got = l.call(t.Context(), "execute", "command", "seq 100000")
	require.NotContains(t, got["output"], "\n50000\n")
	require.Contains(t, got["note"], "search it with grep -n -a PATTERN FILE")
	path := got["log_path"].(string)
	require.Contains(t, path, "all logs")
	got = l.call(t.Context(), "execute", "command", "grep -n '^50000$' '"+path+"'")
	require.Equal(t, "50000:50000\n", got["output"])
}

// The first command that fails has no note on a variable that nothing has named. One
// whose output names it has.
func TestWithheldOnlyWhereNamed(t *testing.T) {
	t.Setenv("DEPLOY_TOKEN", "hidden")
	l := newLocal(t, nil)
	got := l.call(t.Context(), "execute", "command", "grep x /no/such/file")
	require.EqualValues(t, 2, got["exit_code"])
	require.NotContains(t, got, "note")

	const script = "test -n \"$DEPLOY_TOKEN\" || { echo DEPLOY_TOKEN is not set; exit 3; }\n"
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "deploy.sh"), []byte(script), 0o600))
	got = l.call(t.Context(), "execute", "command", "sh ./deploy.sh || true")
	require.Equal(t, true, got["success"])
	require.NotContains(t, got, "note")

	got = l.call(t.Context(), "execute", "command", "sh ./deploy.sh")
	require.EqualValues(t, 3, got["exit_code"])
	require.Equal(t, "DEPLOY_TOKEN is set on the host, but its environment policy keeps it from commands, as it does with secrets; if the command needs it, the user can allow it.", got["note"])
}
