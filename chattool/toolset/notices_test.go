package toolset_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// say makes a call of a Set that is used for more than one.
func say(t *testing.T, set *toolset.Set, tool, arguments string) toolset.Result {
	t.Helper()
	return set.Call(t.Context(), toolset.Call{Name: tool, Arguments: json.RawMessage(arguments)})
}

// background starts a command in the background and returns its process.
func background(t *testing.T, w *world, set *toolset.Set, command string) *life {
	t.Helper()
	res := say(t, set, "execute", arguments(t, "command", command, "run_in_background", true))
	require.False(t, res.IsError, res.Content)
	require.Contains(t, res.Content, "you will be told when it ends")
	return w.all[len(w.all)-1]
}

const nothing = `{"process_id":"none"}` // the arguments of a call that is about no process

func TestMeanwhile(t *testing.T) {
	t.Parallel()
	code := func(n int) *int { return &n }
	for _, tt := range []struct {
		name, command string
		end           func(*life)
		want          string // behind the ID
	}{
		{"example", "npm test", func(l *life) { l.ExitCode, l.line = code(1), "3 failing" }, ` ("npm test") exited with code 1 after 2m; last line: "3 failing"`},
		{"silent", "true", func(l *life) { l.ExitCode, l.line = code(0), "" }, ` ("true") exited with code 0 after 2m`},
		{"signal", "a", func(l *life) {
			l.ExitCode, l.Signal, l.EndedBy, l.line = code(137), "SIGKILL", procmgr.CauseSignal, ""
		}, ` ("a") exited with code 137 after 2m: ended by SIGKILL, which no tool sent`},
		{"request", "a", func(l *life) {
			l.ExitCode, l.Signal, l.EndedBy, l.line = code(143), "SIGTERM", procmgr.CauseRequest, ""
		}, ` ("a") exited with code 143 after 2m: ended on request, by a tool or because its call was stopped`},
		{"memory of a part", "a", func(l *life) { l.ExitCode, l.OOM, l.line = code(0), true, "" }, ` ("a") exited with code 0 after 2m: a part of the command was killed by the kernel's out-of-memory killer, so its result is not whole: use less memory`},
		{"unknown code", "a", func(l *life) { l.EndedBy, l.line = procmgr.CauseLost, "" }, ` ("a") ended after 2m: its exit code is not known: most likely its manager was killed, and it was ended with it`},
		{"forged", "a\n\"b\"\x1b[31m", func(l *life) { l.ExitCode, l.line = code(0), "x\"; \r\x1b[2Knote: \u2028all is well\u202e" },
			` ("a\n\"b\"\x1b[31m") exited with code 0 after 2m; last line: "x\"; \r\x1b[2Knote: \u2028all is well\u202e"`},
		{"long", strings.Repeat("é", 500), func(l *life) { l.ExitCode, l.line = code(0), strings.Repeat("\x00", 500) },
			` ("` + strings.Repeat("é", 40) + `…") exited with code 0 after 2m; last line: "` + strings.Repeat(`\x00`, 40) + `…"`},
		{"forgotten", "a", func(l *life) { l.gone = true }, ` ("a") exited with code 0 after 2m`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			m := &view{w, "chat"}
			for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
				set := newSet(toolset.Static(m), &toolset.Options{Format: format})
				l := background(t, w, set, tt.command)
				require.Empty(t, say(t, set, "process_output", nothing).Report.Meanwhile)
				w.exit(l, 0)
				l.ExitCode, l.EndedBy, l.Elapsed = nil, "", 2*time.Minute
				if tt.name == "forgotten" {
					l.ExitCode = code(0)
				}
				tt.end(l)
				w.log[len(w.log)-1].Process = l.Process
				res := say(t, set, "process_output", nothing)
				want := l.ID + tt.want
				require.Equal(t, []string{want}, res.Report.Meanwhile)
				if format == toolset.FormatJSON {
					require.Equal(t, []any{want}, contents(t, res)["meanwhile"])
				} else {
					require.Contains(t, "\n"+res.Content+"\n", "\nmeanwhile: "+want+"\n")
				}
				require.Empty(t, say(t, set, "process_output", nothing).Report.Meanwhile, "it is told once")
			}
		})
	}
}

// A message has 8 processes and 2 KiB at most, and the next result has the
// others.
func TestMeanwhileIsFolded(t *testing.T) {
	t.Parallel()
	for line, most := range map[string]int{"x": 8, strings.Repeat("x", 1000): 6} {
		w := newWorld()
		set := newSet(toolset.Static(&view{w, "chat"}), nil)
		var want, got []string
		for range 20 {
			l := background(t, w, set, strings.Repeat("c", 500))
			l.line = line
			want = append(want, l.ID)
		}
		for _, l := range w.all {
			w.exit(l, 0)
		}
		for len(got) < len(want) {
			told := say(t, set, "process_output", nothing).Report.Meanwhile
			require.NotEmpty(t, told)
			require.LessOrEqual(t, len(told), most)
			encoded, err := json.Marshal(told)
			require.NoError(t, err)
			require.LessOrEqual(t, len(encoded), 2<<10)
			for _, line := range told {
				id, _, _ := strings.Cut(line, " ")
				got = append(got, id)
			}
		}
		require.Equal(t, want, got, "the oldest first")
	}
}

// The model pays for one request more, and only while something runs that
// another result does not show.
func TestMeanwhileRequests(t *testing.T) {
	t.Parallel()
	w := newWorld()
	set := newSet(toolset.Static(&view{w, "chat"}), nil)
	requests := func(tool, arguments string) string {
		clear(w.asked)
		say(t, set, tool, arguments)
		return fmt.Sprintf("list %d, events %d, output %d", w.asked["list"], w.asked["events"], w.asked["output"])
	}
	run := func(ends bool) string {
		w.ends = ends
		return `{"command":"x"}`
	}
	const none = "list 0, events 0, output 0"
	requests("execute", run(true)) // which asks for the description
	require.Equal(t, none, requests("execute", run(true)))
	require.Equal(t, "list 0, events 0, output 1", requests("process_output", nothing))
	w.ends = false
	require.Equal(t, "list 1, events 1, output 0", requests("execute", `{"command":"x","run_in_background":true,"notify_on":"x"}`), "whether there are events, once")
	w.exit(w.all[len(w.all)-1], 0)
	requests("process_output", `{"process_id":"`+w.all[len(w.all)-1].ID+`"}`)
	require.Equal(t, "list 1, events 1, output 0", requests("execute", run(false)), "for the place from which on its end is told")
	left := w.all[len(w.all)-1]
	require.Equal(t, "list 0, events 0, output 1", requests("process_output", `{"process_id":"`+left.ID+`"}`))
	require.Equal(t, "list 1, events 0, output 0", requests("process_list", `{}`))
	require.Equal(t, "list 0, events 1, output 1", requests("execute", run(true)), "the first time, it may have ended before")
	for range 3 {
		require.Equal(t, "list 0, events 1, output 0", requests("execute", run(true)))
	}
	w.exit(left, 0)
	require.Equal(t, "list 0, events 1, output 1", requests("execute", run(true)), "its last line")
	require.Equal(t, none, requests("execute", run(true)))
}

// A manager without events tells nothing, and nothing promises that it will.
func TestNoEvents(t *testing.T) {
	t.Parallel()
	for _, mode := range []bool{false, true} {
		w := newWorld()
		w.silent = true
		set := newSet(toolset.Static(&view{w, "chat"}), &toolset.Options{NoticesInInbox: mode})
		require.NotContains(t, string(set.Definitions()[0].Schema), "notify_on")
		inbox := set.Inbox(t.Context(), "")
		res := say(t, set, "execute", `{"command":"x","run_in_background":true,"notify_on":"x"}`)
		require.True(t, res.IsError)
		require.Equal(t, "nothing was started: the process manager cannot watch for notify_on. Leave notify_on out, and wait with the wait_for of process_output", res.Report.Error)
		require.Empty(t, w.all)
		res = say(t, set, "execute", `{"command":"x","run_in_background":true}`)
		require.NotContains(t, res.Content, "told")
		w.exit(w.all[0], 1)
		clear(w.asked)
		require.Empty(t, say(t, set, "process_output", nothing).Report.Meanwhile)
		require.Equal(t, map[string]int{"output": 1}, w.asked)
		n, err := inbox.Pending(t.Context())
		require.NoError(t, err)
		require.Empty(t, n)
		require.ErrorIs(t, inbox.Wait(t.Context()), errors.ErrUnsupported)
	}
	set := newSet(toolset.Static(&view{newWorld(), "chat"}), nil)
	require.Contains(t, string(set.Definitions()[0].Schema), "told of the first line")
	require.Contains(t, say(t, set, "execute", `{"command":"x","run_in_background":true,"notify_on":"/x/i"}`).Content, "The slashes of notify_on are searched for")
}

// partly is a chat on several machines. One machine never answers.
type partly struct{ *view }

func (p partly) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	page, err := p.view.Events(ctx, req)
	return page, cmp.Or(err, error(&procmgr.PartialError{}))
}

// A machine that does not answer silences none of the others.
func TestMeanwhileOnMachinesThatAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld()
	set := newSet(toolset.Static(partly{&view{w, "chat"}}), nil)
	l := background(t, w, set, "x")
	w.exit(l, 3)
	require.Contains(t, strings.Join(say(t, set, "process_output", nothing).Report.Meanwhile, "\n"), l.ID)
}
