package toolset_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"golang.org/x/xerrors"
)

func TestExecuteResult(t *testing.T) {
	t.Parallel()
	killed := exited("p1", 137, "")
	killed.Process.Signal, killed.Process.EndedBy = "SIGKILL", procmgr.CauseSignal
	starved := exited("p1", 137, "")
	starved.Process.Signal, starved.Process.EndedBy, starved.Process.OOM = "SIGKILL", procmgr.CauseSignal, true
	stopped := exited("p1", 143, "")
	stopped.Process.Signal, stopped.Process.EndedBy = "SIGTERM", procmgr.CauseRequest
	lost := exited("p1", 0, "")
	lost.Process.ExitCode, lost.Process.EndedBy = nil, procmgr.CauseLost
	long := exited("p1", 0, "a…z")
	long.Truncated = &headtail.Truncation{OriginalBytes: 9, RetainedBytes: 2, OmittedBytes: 7, Strategy: "head_tail", Cuts: []headtail.Cut{{From: 1, To: 8, At: 1, Len: len("…")}}}
	long.Process.LogPath = "/log"
	shutdown := exited("p1", 137, "")
	shutdown.Process.EndedBy = procmgr.CauseShutdown
	hungry, whole := exited("p1", 1, ""), exited("p1", 0, "")
	hungry.Process.OOM, whole.Process.OOM = true, true
	lifetime, trapped := exited("p1", 143, ""), exited("p1", 0, "")
	lifetime.Process.EndedBy, trapped.Process.EndedBy = procmgr.CauseLifetime, procmgr.CauseLifetime
	attached := exited("p1", 0, "")
	attached.Attached = true
	future := running("p1", "")
	future.Process.StartedAt = time.Now().Add(time.Hour)

	texts := map[string]string{ // some of the results in FormatText
		"success":              "exit code 0 · 1.5s\n---\nhi\n",
		"killed by a stranger": "exit code 137 · SIGKILL · 1.5s\nerror: ended by SIGKILL, which no tool sent\n---\n",
		"exit code unknown":    "exited · 1.5s\nerror: its exit code is not known: most likely its manager was killed, and it was ended with it\n---\n",
		"truncated": "exit code 0 · 1.5s · 9 bytes printed, 2 shown\n" +
			"note: all of it is in /log; search it with grep -n -a PATTERN FILE\n" +
			"note: process_output {\"process_id\":\"p1\",\"since\":1} reads on, and a larger max_output shows more; do not run the command again for that\n" +
			"---\na…z",
		"timeout": "running · process p1 · next_offset 0\n" +
			"error: still running after 3s, the timeout; nothing was killed\n" +
			"note: Do not run the command again. Use process_output {\"process_id\":\"p1\",\"since\":0,\"wait_timeout\":\"1m\"} to wait on, process_signal to end it.\n" +
			"---\n",
	}
	for _, tt := range []struct {
		name, arguments string
		out             procmgr.Output
		want            string // JSON; "note" and "error" are compared by what they contain
	}{
		{"success", `{"command":"x"}`, exited("p1", 0, "hi\n"),
			`{"success":true,"output":"hi\n","exit_code":0,"state":"exited","duration":"1.5s"}`},
		{"failure", `{"command":"x"}`, exited("p1", 3, ""),
			`{"success":false,"output":"","exit_code":3,"state":"exited","duration":"1.5s"}`},
		{"killed by a stranger", `{"command":"x"}`, killed,
			`{"success":false,"output":"","exit_code":137,"signal":"SIGKILL","state":"exited","duration":"1.5s","error":"no tool sent"}`},
		{"killed for memory", `{"command":"x"}`, starved,
			`{"success":false,"output":"","exit_code":137,"signal":"SIGKILL","state":"exited","duration":"1.5s","error":"use less memory"}`},
		{"killed for memory in part", `{"command":"x"}`, hungry,
			`{"success":false,"output":"","exit_code":1,"state":"exited","duration":"1.5s","error":"a part of the command was killed by the kernel's out-of-memory killer, so its result is not whole: use less memory"}`},
		{"killed for memory in a pipeline", `{"command":"x | wc -c"}`, whole,
			`{"success":true,"output":"","exit_code":0,"state":"exited","duration":"1.5s","note":"a part of the command was killed by the kernel's out-of-memory killer, so its result is not whole: use less memory"}`},
		{"manager closed", `{"command":"x"}`, shutdown,
			`{"success":false,"output":"","exit_code":137,"state":"exited","duration":"1.5s","error":"manager was closed"}`},
		{"ended by the host's limit", `{"command":"x"}`, lifetime,
			`{"success":false,"output":"","exit_code":143,"state":"exited","duration":"1.5s","error":"ended by the host's limit on how long a process may run; another run gets the same limit"}`},
		{"ended by the host's limit, with a trap", `{"command":"x"}`, trapped,
			`{"success":false,"output":"","exit_code":0,"state":"exited","duration":"1.5s","error":"by the host's limit"}`},
		{"detached", `{"command":"server & sleep 1"}`, detached("p1", 0, "x"),
			`{"success":true,"output":"x","exit_code":0,"state":"detached","process_id":"p1","next_offset":1,"note":"live on as process p1"}`},
		{"detached and failed", `{"command":"server & sleep 1"}`, detached("p1", 1, "x"),
			`{"success":false,"output":"x","exit_code":1,"state":"detached","process_id":"p1","next_offset":1,"note":"live on as process p1"}`},
		{"stopped", `{"command":"x"}`, stopped,
			`{"success":false,"output":"","exit_code":143,"signal":"SIGTERM","state":"exited","duration":"1.5s","error":"on request"}`},
		{"exit code unknown", `{"command":"x"}`, lost,
			`{"success":false,"output":"","state":"exited","duration":"1.5s","error":"exit code is not known"}`},
		{"truncated", `{"command":"x"}`, long,
			`{"success":true,"output":"a…z","exit_code":0,"state":"exited","duration":"1.5s","note":"all of it is in log_path; search it with grep -n -a PATTERN FILE.","log_path":"/log",
			  "truncated":{"original_bytes":9,"retained_bytes":2,"omitted_bytes":7}}`},
		{"attached", `{"command":"x"}`, attached,
			`{"success":true,"output":"","exit_code":0,"state":"exited","duration":"1.5s","note":"nothing was run again"}`},
		{"timeout", `{"command":"x","timeout":"3s"}`, future,
			`{"success":false,"output":"","state":"running","error":"still running after 3s","process_id":"p1","next_offset":0,"note":"process_output {\"process_id\":\"p1\""}`},
		{"background", `{"command":"x","run_in_background":true}`, future,
			`{"success":true,"output":"","state":"running","process_id":"p1","next_offset":0,"note":"in the background as process p1"}`},
		{"background that failed at once", `{"command":"x","run_in_background":true}`, exited("p1", 127, "not found"),
			`{"success":false,"output":"not found","exit_code":127,"state":"exited","duration":"1.5s","note":"already ended"}`},
		{"no html escapes", `{"command":"x"}`, exited("p1", 0, `<a href="x">&amp;</a>`),
			`{"success":true,"output":"<a href=\"x\">&amp;</a>","exit_code":0,"state":"exited","duration":"1.5s"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { return tt.out, nil }}
			res, got := call(t, m, fixed(), "execute", tt.arguments)
			want := contents(t, toolset.Result{Content: strings.ReplaceAll(tt.want, "\n", "")})
			for _, words := range []string{"note", "error"} {
				wanted, _ := want[words].(string)
				said, _ := got[words].(string)
				require.Contains(t, said, wanted)
				if wanted == "" {
					require.Empty(t, said)
				}
				delete(want, words)
				delete(got, words)
			}
			require.Equal(t, want, got)
			require.False(t, res.IsError)
			require.Equal(t, tt.out, *res.Output)
			require.NotContains(t, res.Content, `\u00`)
			if text, ok := texts[tt.name]; ok {
				require.Equal(t, text, ask(t, m, fixed(), "execute", tt.arguments).Content)
			}
		})
	}
}

func TestExecuteRequest(t *testing.T) {
	t.Parallel()
	limit := headtail.Limits{Bytes: 100, Line: 10}
	for _, tt := range []struct {
		name, arguments string
		opts            toolset.Options
		want            procmgr.StartRequest
	}{
		{"defaults", `{"command":"x"}`, toolset.Options{},
			procmgr.StartRequest{Command: "x", Wait: 10 * time.Second}},
		{"all", `{"command":"x","timeout":"1m30s","workdir":" /tmp "}`, toolset.Options{Limit: limit},
			procmgr.StartRequest{Command: "x", Wait: 90 * time.Second, WorkDir: " /tmp ", Limit: headtail.Limits{Line: 10}}},
		{"prints a file", `{"command":"cat x"}`, toolset.Options{},
			procmgr.StartRequest{Command: "cat x", Wait: 10 * time.Second}},
		{"own default", `{"command":"x","timeout":""}`, toolset.Options{DefaultTimeout: time.Minute},
			procmgr.StartRequest{Command: "x", Wait: time.Minute}},
		{"default over maximum", `{"command":"x"}`, toolset.Options{DefaultTimeout: time.Minute, MaxTimeout: time.Second},
			procmgr.StartRequest{Command: "x", Wait: time.Second}},
		{"no default", `{"command":"x"}`, toolset.Options{DefaultTimeout: -1},
			procmgr.StartRequest{Command: "x"}},
		{"no maximum", `{"command":"x","timeout":"9h"}`, toolset.Options{MaxTimeout: -1},
			procmgr.StartRequest{Command: "x", Wait: 9 * time.Hour}},
		{"background", `{"command":"x","run_in_background":true,"timeout":"1m"}`, toolset.Options{},
			procmgr.StartRequest{Command: "x", Wait: 200 * time.Millisecond, Background: true}},
		{"trailing &", `{"command":"cd a && npm start & # go"}`, toolset.Options{},
			procmgr.StartRequest{Command: "cd a && npm start  # go", Wait: 200 * time.Millisecond, Background: true}},
		{"trailing & and background", `{"command":"x &","run_in_background":true}`, toolset.Options{},
			procmgr.StartRequest{Command: "x ", Wait: 200 * time.Millisecond, Background: true}},
		{"trailing & behind more, and background", `{"command":"npm ci; npm start &","run_in_background":true}`, toolset.Options{},
			procmgr.StartRequest{Command: "npm ci; npm start ", Wait: 200 * time.Millisecond, Background: true}},
		{"no trailing &", `{"command":"npm ci; npm start &"}`, toolset.Options{},
			procmgr.StartRequest{Command: "npm ci; npm start &", Wait: 10 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{}
			res, got := call(t, m, &tt.opts, "execute", tt.arguments)
			require.Equal(t, true, got["success"])
			require.Len(t, m.starts, 1)
			require.Regexp(t, `^[a-z2-7]{10}$`, m.starts[0].ID)
			require.Equal(t, m.starts[0].ID, res.Output.Process.ID)
			require.Positive(t, m.starts[0].Limit.Bytes)
			require.LessOrEqual(t, m.starts[0].Limit.Bytes, cmp.Or(tt.opts.Limit.Bytes, 16000))
			require.Equal(t, tt.name != "prints a file", m.starts[0].Highlight > 0)
			m.starts[0].ID, m.starts[0].Limit.Bytes, m.starts[0].Highlight = "", 0, 0
			require.Equal(t, tt.want, m.starts[0])
			if strings.HasPrefix(tt.name, "trailing") {
				require.Contains(t, got["note"], "The trailing & was taken off")
			}
		})
	}
}

func TestExecuteStartFails(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error { return xerrors.Errorf("procmgr: start: why: %w", err) }
	plain := errors.New("connection refused")
	notFound := func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
		return procmgr.Output{}, wrap(procmgr.ErrNotFound)
	}
	unreadable := func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
		return procmgr.Output{}, errors.New("no route")
	}
	lives := func(_ context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
		return running(id, "so far"), nil
	}
	for _, tt := range []struct {
		name    string
		out     procmgr.Output
		err     error
		output  func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error)
		isError bool
		id      string // process_id
		want    string
		not     string
		args    string
	}{
		{name: "invalid", err: wrap(procmgr.ErrInvalid), isError: true, want: `"nothing was started: why"`},
		{name: "limit", err: wrap(procmgr.ErrLimit), isError: true, want: "process_list lists the processes of this chat, and process_signal ends one"},
		{name: "conflict", err: wrap(procmgr.ErrConflict), isError: true, want: "nothing was started by this call: its process id p1 belongs to another"},
		{name: "closed", err: wrap(procmgr.ErrClosed), isError: true, want: "No command can be run any more"},
		{name: "unknown and gone", err: wrap(procmgr.ErrUnknown), output: notFound, isError: true, id: "p1", want: "Do not simply run it again", not: "nothing was started"},
		{name: "unknown and unreadable", err: wrap(procmgr.ErrUnknown), output: unreadable, isError: true, id: "p1", want: "unknown whether the command ran"},
		{name: "unknown and found", err: wrap(procmgr.ErrUnknown), output: lives, id: "p1", want: "Do not run the command again: it has been started"},
		{name: "refused", err: wrap(procmgr.ErrRefused), isError: true, want: "nothing was started: why. This was not allowed", not: "once more"},
		{name: "other", err: plain, output: unreadable, isError: true, want: "nothing was started: connection refused. Nothing was run", not: "unknown"},
		{name: "begun and found", out: running("p1", ""), err: plain, output: lives, id: "p1", want: "so far"},
		{name: "begun in the background", args: `,"run_in_background":true`, out: running("p1", ""), err: plain, output: lives, id: "p1", want: `"success":true`},
		{name: "begun and over", out: running("p1", ""), err: plain, want: `"success":true`},
		{name: "begun and unreadable", out: running("p1", "early"), err: plain, output: unreadable, isError: true, id: "p1", want: "its output could not be read"},
		{name: "begun and gone", out: running("p1", ""), err: plain, output: notFound, isError: true, id: "p1", want: "unknown whether the command ran"},
		{name: "begun and only the id", out: procmgr.Output{Process: procmgr.Process{ID: "p1"}}, err: plain, output: unreadable, isError: true, id: "p1", want: `{\"process_id\":\"p1\"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{output: tt.output, start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { return tt.out, tt.err }}
			res, got := call(t, m, fixed(), "execute", `{"command":"x"`+tt.args+`}`)
			require.Equal(t, tt.isError, res.IsError)
			require.Equal(t, tt.isError && tt.id != "" && res.Report.State == "", res.Report.Unknown)
			require.Contains(t, res.Content, tt.want)
			if tt.not != "" {
				require.NotContains(t, res.Content, tt.not)
			}
			id, _ := got["process_id"].(string)
			require.Equal(t, tt.id, id)
			require.Equal(t, tt.name == "begun and over" || tt.args != "", got["success"])
			require.Len(t, m.starts, 1, "a command is never started twice")
		})
	}
}
