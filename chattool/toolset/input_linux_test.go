package toolset_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
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
	require.Contains(t, terminal.input("text", "x\n")["note"], `press keys ["enter"]`)
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
