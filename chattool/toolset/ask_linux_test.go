package toolset_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// A call returns as soon as its program asks, and says so; the question is what the
// output ends with.
func TestLocalQuestion(t *testing.T) {
	t.Parallel()
	l := newLocal(t, withInput)
	began := time.Now()
	got := l.call(t.Context(), "execute", "timeout", "5m", "stdin", "terminal",
		"command", `printf 'Overwrite? [y/N] '; read -r x; printf 'Password: '; stty -echo; read -r y; stty echo; echo; echo "$x $y"; exit 3`)
	require.Less(t, time.Since(began), patience)
	require.Equal(t, true, got["waiting_for_input"], "%v", got)
	require.Equal(t, true, got["success"], "nothing has failed")
	require.NotContains(t, got, "error")
	require.Equal(t, "Overwrite? [y/N] ", got["output"])
	id := got["process_id"].(string)
	require.Contains(t, got["note"], `Answer with process_input {"process_id":"`+id+`","text":…,"keys":["enter"]}`)
	require.NotContains(t, got["note"], "looks like")

	list := l.call(t.Context(), "process_list")["processes"].([]any)
	require.Len(t, list, 1)
	require.Equal(t, true, list[0].(map[string]any)["waiting_for_input"])
	got = l.call(t.Context(), "process_output", "process_id", id, "wait_timeout", "0s")
	require.Equal(t, true, got["waiting_for_input"], "%v", got)

	d := &dialog{l, id}
	got = d.input("text", "yes", "keys", []string{"enter"})
	for !strings.HasSuffix(got["output"].(string), "Password: ") { // the shell was late
		got = d.input("wait_for", "Password: $")
	}
	got = l.call(t.Context(), "process_output", "process_id", id, "wait_for", "nothing", "wait_timeout", "1s")
	require.Equal(t, true, got["waiting_for_input"], "%v", got)
	require.Contains(t, got["note"], `"secret":true`)
	got = d.input("text", "hush", "keys", []string{"enter"}, "secret", true, "wait_for", "^yes hush$")
	require.Contains(t, got["note"], "wait_for matched")
	require.Equal(t, 3, d.ends())
}

// A pager takes no line: the note says which key ends it, and that key does.
func TestLocalPager(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "less")
	l := newLocal(t, withInput)
	for _, command := range []string{"seq 300 > f; less f", "seq 300 | less"} {
		got := l.call(t.Context(), "execute", "timeout", "1m", "stdin", "terminal", "command", "LESS= "+command)
		require.Equal(t, true, got["waiting_for_input"], "%v", got)
		id := got["process_id"].(string)
		require.Contains(t, got["note"], `The pager less waits for a key. process_input {"process_id":"`+id+`","text":"q"} ends it`, command)
		require.NotContains(t, got["note"], "enter")
		d := &dialog{l, id}
		d.input("text", " ")
		d.input("text", "q")
		require.Equal(t, 0, d.ends(), command)
	}
}

// A wait for a line ends if the program asks something else.
func TestLocalOtherQuestion(t *testing.T) {
	t.Parallel()
	l := newLocal(t, withInput)
	got := l.call(t.Context(), "execute", "timeout", "5m", "stdin", "open", "command", `read -r x; echo "sure?"; read -r y; echo done`)
	require.Equal(t, true, got["waiting_for_input"], "%v", got)
	require.Contains(t, got["note"], `"text":"…\n"`)
	d := &dialog{l, got["process_id"].(string)}
	got = d.input("text", "a\n", "wait_for", "^done$", "wait_timeout", "5m")
	require.Equal(t, true, got["waiting_for_input"], "%v", got)
	require.Equal(t, "sure?\n", got["output"])
	require.Contains(t, got["note"], "wait_for has not matched so far")
	got = d.input("text", "b\n", "wait_for", "^done$")
	require.NotContains(t, got, "waiting_for_input")
	require.Equal(t, 0, d.ends())
}

// What begins to wait in the background is told in the next result, once, or in an Inbox.
func TestQuestionIsTold(t *testing.T) {
	t.Parallel()
	for name, m := range managers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(toolset.Static(m), withInput)
			id := say(t, set, "execute", arguments(t, "run_in_background", true, "stdin", "terminal",
				"command", `sleep 0.5; printf 'name? '; read -r x; sleep 0.5; printf 'sure? '; read -r y`)).Report.ProcessID
			for _, question := range []string{"name?", "sure?"} {
				out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: patience, UntilWaiting: true})
				require.NoError(t, err)
				require.NotNil(t, out.Process.Waiting)
				res := say(t, set, "execute", `{"command":"true"}`)
				require.Len(t, res.Report.Meanwhile, 1)
				require.Contains(t, res.Report.Meanwhile[0], `waits for input: "`+question+`"`)
				require.Empty(t, say(t, set, "execute", `{"command":"true"}`).Report.Meanwhile, "once")
				_, err = m.Input(t.Context(), id, procmgr.InputRequest{Keys: []procmgr.Key{"enter"}})
				require.NoError(t, err)
			}
		})
		t.Run(name+", inbox", func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			opts := inboxOptions()
			opts.Input = true
			set := newSet(toolset.Static(m), opts)
			inbox := set.Inbox(ctx, "")
			res := say(t, set, "execute", arguments(t, "run_in_background", true, "stdin", "open", "command", `sleep 0.5; echo "name?"; read -r x; exec sleep 600`))
			require.NoError(t, inbox.Wait(ctx))
			n, err := inbox.Pending(ctx)
			require.NoError(t, err)
			require.Contains(t, n.Text, `waits for input: "name?"`)
			require.Contains(t, n.Text, "not from the user")
			require.Len(t, n.Processes, 1)
			require.NotNil(t, n.Processes[0].Waiting)
			inbox.Ack(n)
			n, err = inbox.Pending(ctx)
			require.NoError(t, err)
			require.Empty(t, n)
			require.NoError(t, m.Signal(ctx, res.Report.ProcessID, procmgr.Kill))
		})
	}
}

// A question that a result has shown is not told again.
func TestQuestionIsShown(t *testing.T) {
	t.Parallel()
	m := newHost(t, nil).Chat("a")
	set := newSet(toolset.Static(m), withInput)
	res := say(t, set, "execute", `{"command":"read -r x","stdin":"open"}`)
	require.NotNil(t, res.Report.Waiting, res.Content)
	require.Contains(t, res.Report.Notes, `It waits for input. Answer with process_input {"process_id":"`+res.Report.ProcessID+`","text":"…\n"}.`)
	require.Empty(t, say(t, set, "execute", `{"command":"true"}`).Report.Meanwhile)
	text := newSet(toolset.Static(m), &toolset.Options{Input: true, Format: toolset.FormatText})
	require.Contains(t, say(t, text, "process_output", arguments(t, "process_id", res.Report.ProcessID, "wait_timeout", "0s")).Content, "running · waiting_for_input true · ")
	require.Contains(t, say(t, text, "process_list", `{}`).Content, "running waiting_for_input")
}
