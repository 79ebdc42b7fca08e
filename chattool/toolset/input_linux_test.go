package toolset_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// A dialog is a program that a test drives as a model would.
type dialog struct {
	*local
	id string
}

// open starts a program with a stdin.
func (l *local) open(stdin, command string) *dialog {
	l.t.Helper()
	got := l.call(l.t.Context(), "execute", "command", command, "stdin", stdin, "run_in_background", true)
	require.NotEmpty(l.t, got["process_id"], "%v", got)
	return &dialog{l, got["process_id"].(string)}
}

// input calls process_input.
func (d *dialog) input(pairs ...any) map[string]any {
	d.t.Helper()
	return d.call(d.t.Context(), "process_input", append([]any{"process_id", d.id, "wait_timeout", "1m"}, pairs...)...)
}

// until writes nothing, and waits for a line.
func (d *dialog) until(line string) map[string]any {
	d.t.Helper()
	got := d.call(d.t.Context(), "process_output", "process_id", d.id, "wait_for", line, "wait_timeout", "1m")
	require.Contains(d.t, got["note"], "wait_for matched", "%v", got)
	return got
}

// ends waits for the end of the program, and returns its exit code.
func (d *dialog) ends() int {
	d.t.Helper()
	got := d.call(d.t.Context(), "process_output", "process_id", d.id, "wait_timeout", "1m")
	require.Equal(d.t, "exited", got["state"], "%v", got)
	return int(got["exit_code"].(float64))
}

// shell runs a command of the test's own in the directory.
func (l *local) shell(command string) string {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), "sh", "-c", command)
	cmd.Dir = l.dir
	out, err := cmd.CombinedOutput()
	require.NoError(l.t, err, "%s", out)
	return string(out)
}

const repository = "git init -q . && git config user.name a && git config user.email a@b && " +
	"for i in 1 2 3; do echo $i >f$i && git add f$i && git commit -q -m commit-$i; done"

func TestLocalInput(t *testing.T) {
	t.Parallel()
	l := newLocal(t, withInput)
	d := l.open("open", `while read -r x; do echo "got $x"; done; echo end; exit 3`)
	got := d.input("text", "one\ntwo\n", "wait_for", "two")
	require.Equal(t, "got one\ngot two\n", got["output"])
	require.Contains(t, got["note"], "wait_for matched")
	require.Equal(t, "running", got["state"])
	got = d.input("text", "three\n")
	require.Equal(t, "got three\n", got["output"], "until it is quiet")
	got = d.input("text", "four\n", "end", true)
	require.Equal(t, "got four\nend\n", got["output"])
	require.Equal(t, "exited", got["state"])
	require.EqualValues(t, 3, got["exit_code"])
	got = d.input("text", "five\n")
	require.Contains(t, got["error"], "nothing was written")
	require.Equal(t, false, got["success"])
}

func TestLocalInputIsRefused(t *testing.T) {
	t.Parallel()
	l := newLocal(t, withInput)
	empty := l.call(t.Context(), "execute", "command", "sleep 600", "run_in_background", true)["process_id"]
	pipe, terminal := l.open("open", "exec cat"), l.open("terminal", "echo ready; exec cat")
	terminal.until("ready")
	for name, tt := range map[string]struct {
		pairs []any
		want  string
	}{
		"none":      {[]any{"process_id", "nosuch", "text", "x"}, "there is no process nosuch"},
		"no stdin":  {[]any{"process_id", empty, "text", "x"}, `start it again with stdin "open" or "terminal"`},
		"no key":    {[]any{"process_id", terminal.id, "keys", []string{"hyper-x"}}, "the keys are enter, tab"},
		"a pipe":    {[]any{"process_id", pipe.id, "keys", []string{"enter"}}, "keys and secrets are for a terminal"},
		"no secret": {[]any{"process_id", terminal.id, "text", "x", "secret", true, "wait_timeout", "50ms"}, "no program asks for a secret"},
		"a pattern": {[]any{"process_id", terminal.id, "text", "x", "wait_for", "("}, "process_input"},
	} {
		got := l.call(t.Context(), "process_input", tt.pairs...)
		require.Contains(t, got["error"], tt.want, name)
	}
	ended := l.call(t.Context(), "execute", "command", "true", "run_in_background", true)
	require.Equal(t, "exited", ended["state"])
	processes := l.call(t.Context(), "process_list")["processes"].([]any)
	last := processes[len(processes)-1].(map[string]any)
	require.Equal(t, "true", last["command"])
	got := l.call(t.Context(), "process_input", "process_id", last["process_id"], "text", "x")
	require.Equal(t, "the process has ended; nothing was written", got["error"], "there is nothing to end")
	require.Equal(t, "exited", got["state"])
	got = l.call(t.Context(), "execute", "command", "true", "stdin", "yes")
	require.Contains(t, got["error"], "open or terminal")
	plain := newLocal(t, nil)
	got = plain.call(t.Context(), "execute", "command", "true", "stdin", "open")
	require.Contains(t, got["error"], "there is no argument")
	got = plain.call(t.Context(), "process_input", "process_id", "x")
	require.Contains(t, got["error"], "there is no tool")
}

// A question of a command without a stdin gets a note on how to answer it. If the
// command has a stdin, the note says what answers it.
func TestHeldLocalInputNotes(t *testing.T) {
	testenv.Held(t)
	t.Parallel()
	testenv.Programs(t, "bash")
	l := newLocal(t, withInput)
	const question = `printf 'Continue? [y/N] '; sleep 600`
	got := l.call(t.Context(), "execute", "command", question, "timeout", "1500ms")
	require.Contains(t, got["note"], `start it again with stdin "open", and answer with process_input`)
	d := l.open("open", `printf 'Continue? [y/N] '; read -r x; echo "$x"`)
	d.until("Continue")
	got = l.call(t.Context(), "process_output", "process_id", d.id, "wait_timeout", "1500ms")
	require.Contains(t, got["note"], "Answer with process_input")
	shell := l.open("terminal", "PS1='ready> ' bash --norc -i")
	shell.until("ready>")
	got = shell.input("text", "echo $((6*7))\n")
	require.Contains(t, got["note"], `press keys ["enter"]`)
	require.Contains(t, shell.input("keys", []string{"enter"}, "wait_for", "^42$")["output"], "42\n")
}

// A full screen that a command draws is its result, of process_input too, and
// process_output returns the screen if it is asked to.
func TestLocalScreen(t *testing.T) {
	t.Parallel()
	l := newLocal(t, withInput)
	const draws = `printf '\033[?1049h\033[2J\033[3;5Hhere'; read -r x; printf '\033[?1049l'; echo bye; read -r y`
	got := l.call(t.Context(), "execute", "command", draws, "stdin", "terminal", "timeout", "1s")
	if got["output"] != "\n\n    here" { // a busy machine has not begun by then
		id := got["process_id"]
		l.call(t.Context(), "process_output", "process_id", id, "wait_for", "here", "wait_timeout", "1m")
		got = l.call(t.Context(), "process_output", "process_id", id, "wait_timeout", "0s", "screen", true)
	}
	require.Equal(t, "\n\n    here", got["output"], "%v", got)
	require.Contains(t, got["note"], "This is the screen")
	id := got["process_id"]
	got = l.call(t.Context(), "process_output", "process_id", id, "wait_timeout", "0s")
	require.NotContains(t, fmt.Sprint(got["note"]), "This is the screen", "it was not asked for")
	got = l.call(t.Context(), "process_output", "process_id", id, "wait_timeout", "0s", "screen", true)
	require.Equal(t, "\n\n    here", got["output"])
	d := &dialog{l, id.(string)}
	got = d.input()
	require.Equal(t, "\n\n    here", got["output"])
	require.Contains(t, got["note"], "the cursor is in row 3, column 9")
	require.Contains(t, d.input("keys", []string{"Return"}, "wait_for", "bye")["output"], "bye\n")
	require.Equal(t, "bye\n", d.input("screen", true)["output"], "as the model asked")
	pipe := l.open("open", "exec cat")
	got = l.call(t.Context(), "process_output", "process_id", pipe.id, "wait_timeout", "0s", "screen", true)
	require.Contains(t, got["note"], "no terminal")
	plain := newLocal(t, nil)
	got = plain.call(t.Context(), "process_output", "process_id", "x", "screen", true)
	require.Contains(t, got["error"], "there is no argument")
}

// Without Options.Input the definitions do not change, and with it the description and
// the schema name every key.
func TestInputDefinitions(t *testing.T) {
	without, with := newSet(nowhere, nil).Definitions(), newSet(nowhere, withInput).Definitions()
	require.Len(t, without, 4)
	require.Len(t, with, 5)
	require.Equal(t, without[2:4], with[2:4])
	require.NotContains(t, string(without[1].Schema), "screen")
	require.Contains(t, string(with[1].Schema), `"screen":{"type":"boolean"`)
	require.Equal(t, "process_input", with[4].Name)
	require.False(t, with[4].Parallel)
	for _, key := range procmgr.KeyNames() {
		require.Contains(t, string(with[4].Schema), key)
	}
	require.Contains(t, string(with[4].Schema), `"required":["process_id"]`)
	require.Contains(t, string(with[0].Schema), `"enum":["open","terminal"]`)
	withoutStdin := regexp.MustCompile(`,"stdin":\{[^}]*\}`).ReplaceAllString(string(with[0].Schema), "")
	require.Equal(t, string(without[0].Schema), withoutStdin, "execute has stdin, and nothing else")

	renamed := newSet(nowhere, &toolset.Options{Input: true, Names: map[string]string{"process_input": "type"}}).Definitions()
	require.Equal(t, "type", renamed[4].Name)
	require.Contains(t, renamed[0].Description, "driven with type")
}

// Real programs, driven as a model drives them: each ends with the right file or
// answer.
func TestHeldInputPrograms(t *testing.T) {
	testenv.Held(t)
	enter := []string{"enter"}
	for _, tt := range []struct {
		name     string
		programs string
		drive    func(t *testing.T, l *local)
	}{
		{"git add -p", "git", func(t *testing.T, l *local) {
			l.shell(repository + " && echo more >>f1 && echo more >>f2")
			d := l.open("open", "git add -p")
			d.until("Stage this hunk")
			d.input("text", "n\n", "wait_for", "2/1|f2|Stage this hunk")
			d.input("text", "y\n", "end", true)
			require.Zero(t, d.ends())
			require.Equal(t, "f2\n", l.shell("git diff --cached --name-only"))
		}},
		{"python3 on a terminal", "python3", func(t *testing.T, l *local) {
			d := l.open("terminal", "python3")
			d.until(">>>")
			d.input("text", "print(6 * 7)", "keys", enter, "wait_for", "^42$")
			d.until(">>> $")
			got := d.input("end", true)
			require.Equal(t, "exited", got["state"], "%v", got)
			require.EqualValues(t, 0, got["exit_code"])
		}},
		{"git rebase -i", "git vi", func(t *testing.T, l *local) {
			l.shell(repository)
			d := l.open("terminal", "HOME=$PWD GIT_EDITOR=vi git rebase -i HEAD~2")
			d.until("pick")
			got := d.input("text", ":2s/^pick/drop/", "keys", enter)
			require.Contains(t, got["output"], "drop ", "%v", got)
			d.input("text", ":wq", "keys", enter)
			require.Zero(t, d.ends())
			require.Equal(t, "commit-2\ncommit-1\n", l.shell("git log --format=%s"))
		}},
		{"su", "su setpriv useradd userdel chpasswd", func(t *testing.T, l *local) {
			testenv.Root(t)
			const user, password = "toolproc-input", "correct horse"
			l.shell("useradd -M -s /bin/sh " + user)
			t.Cleanup(func() { _ = exec.Command("userdel", user).Run() })
			l.shell("echo '" + user + ":" + password + "' | chpasswd")
			d := l.open("terminal", "cd /; setpriv --reuid 65534 --regid 65534 --clear-groups su "+user+" -c 'id -un'")
			got := d.input("text", password, "keys", enter, "secret", true, "wait_for", "^"+user)
			require.Contains(t, got["output"], user+"\n", "%v", got)
			require.NotContains(t, got["output"], password)
			require.Zero(t, d.ends())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			testenv.Programs(t, strings.Fields(tt.programs)...)
			l := newLocal(t, withInput)
			require.NoError(t, os.MkdirAll(filepath.Join(l.dir, ".cache"), 0o700))
			tt.drive(t, l)
		})
	}
}
