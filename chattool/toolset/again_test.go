//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A loop is a model that runs a command again and again. What it prints is in the
// file "out" of its directory, and its exit code in "code".
type loop struct {
	t    *testing.T
	dir  string
	chat procmgr.Manager
	set  *toolset.Set
}

const printOut = `tr a a < out; exit $(head -n 1 code)`

func newLoop(t *testing.T, opts toolset.Options) *loop {
	t.Helper()
	dir := t.TempDir()
	host := newHost(t, &proclocal.Options{WorkDir: dir, LogDir: t.TempDir()})
	l := &loop{t: t, dir: dir, chat: host.Chat("a")}
	l.set = newSet(toolset.Static(l.chat), &opts)
	return l
}

func (l *loop) prints(text string, code int) {
	l.t.Helper()
	require.NoError(l.t, os.WriteFile(filepath.Join(l.dir, "out"), []byte(text), 0o600))
	require.NoError(l.t, os.WriteFile(filepath.Join(l.dir, "code"), fmt.Appendf(nil, "%d\n", code), 0o600))
}

func (l *loop) call(tool string, pairs ...any) toolset.Result {
	l.t.Helper()
	return l.set.Call(context.Background(), toolset.Call{Name: tool, Arguments: json.RawMessage(arguments(l.t, pairs...))})
}

func (l *loop) run() toolset.Result {
	l.t.Helper()
	return l.call("execute", "command", printOut, "timeout", "2m")
}

// isWhole reports whether a result has the output itself.
func isWhole(res toolset.Result) bool {
	return res.Report.Earlier == nil && res.Report.Changes == nil && res.Report.Output != nil && !strings.Contains(res.Content, "ran again")
}

func tests(n int, others map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		line := fmt.Sprintf("--- PASS: TestNumber%d (0.00s)", i)
		if other, ok := others[i]; ok {
			line = other
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

var seconds = regexp.MustCompile(`\d+(\.\d+)?(ms|s) \(\d+(\.\d+)?(ms|s) before\)`)

func TestRanAgain(t *testing.T) {
	t.Parallel()
	l := newLoop(t, toolset.Options{Format: toolset.FormatText})
	l.prints(tests(100, nil), 0)
	first := l.run()
	require.True(t, isWhole(first), first.Content)
	id := first.Output.Process.ID

	l.prints(strings.ReplaceAll(tests(100, nil), "(0.00s)", "(0.01s)"), 0)
	same := l.run()
	require.Equal(t, "ran again · exit code 0 (0 before) · TIME · the same but for times as "+id+"\nnote: all of it: process_output {\"process_id\":\""+same.Output.Process.ID+"\"}",
		seconds.ReplaceAllString(same.Content, "TIME"))
	require.Nil(t, same.Report.Output)
	require.Equal(t, &procmgr.Changes{Same: true, Times: 100, Lines: 100}, same.Report.Changes)
	require.Equal(t, id, same.Report.Earlier.ID)
	require.Contains(t, same.Output.Text, "TestNumber77 (0.01s)", "a program has all of it")

	l.prints(tests(100, map[int]string{40: "    a_test.go:7: got 3, want 4", 41: "--- FAIL: TestNumber40 (0.00s)"}), 1)
	differs := l.run()
	require.Equal(t, "ran again · exit code 1 (0 before) · TIME · differs from "+id+" by 2 lines of 100:\n"+
		"note: all of it: process_output {\"process_id\":\""+differs.Output.Process.ID+"\"}\n---\n"+
		"@@ -38,6 +38,6 @@\n --- PASS: TestNumber38 (0.00s)\n --- PASS: TestNumber39 (0.00s)\n"+
		"---- PASS: TestNumber40 (0.00s)\n---- PASS: TestNumber41 (0.00s)\n+    a_test.go:7: got 3, want 4\n+--- FAIL: TestNumber40 (0.00s)\n"+
		" --- PASS: TestNumber42 (0.00s)\n --- PASS: TestNumber43 (0.00s)\n"+
		"... [the last 5 lines] ...\n"+tests(100, nil)[strings.Index(tests(100, nil), "--- PASS: TestNumber96"):],
		seconds.ReplaceAllString(differs.Content, "TIME"))
	require.Equal(t, *differs.Report.Output, differs.Content[strings.Index(differs.Content, "@@"):])
	require.False(t, differs.Report.Success)

	// All of it can be read, although it was compared.
	read := l.call("process_output", "process_id", differs.Output.Process.ID)
	require.True(t, isWhole(read), read.Content)
	require.Contains(t, read.Content, "TestNumber77")
}

func TestNotComparedAgain(t *testing.T) {
	t.Parallel()
	much := tests(100, nil)
	for _, tt := range []struct {
		name string
		opts toolset.Options
		do   func(l *loop) toolset.Result // after a first run of it
	}{
		{"Whole", toolset.Options{Whole: true}, (*loop).run},
		{"max_output", toolset.Options{}, func(l *loop) toolset.Result {
			return l.call("execute", "command", printOut, "timeout", "2m", "max_output", 8000)
		}},
		{"Forget", toolset.Options{}, func(l *loop) toolset.Result { l.set.Forget(""); return l.run() }},
		{"another Set", toolset.Options{}, func(l *loop) toolset.Result {
			l.set = newSet(toolset.Static(l.chat), nil)
			return l.run()
		}},
		{"another command", toolset.Options{}, func(l *loop) toolset.Result {
			return l.call("execute", "command", printOut+" ", "timeout", "2m")
		}},
		{"another directory", toolset.Options{}, func(l *loop) toolset.Result {
			sub := filepath.Join(l.dir, "sub")
			require.NoError(l.t, os.Mkdir(sub, 0o700))
			for _, name := range []string{"out", "code"} {
				require.NoError(l.t, os.Symlink(filepath.Join(l.dir, name), filepath.Join(sub, name)))
			}
			return l.call("execute", "command", printOut, "timeout", "2m", "workdir", sub)
		}},
		{"20 results later", toolset.Options{}, func(l *loop) toolset.Result {
			for i := range 20 { // each is compared with the first, which was shown whole
				l.prints(tests(100, map[int]string{i + 1: "x"}), 0)
				changes := l.run().Report.Changes
				require.NotNil(l.t, changes)
				require.Equal(l.t, []int{1, 1}, []int{changes.Added, changes.Removed})
			}
			return l.run()
		}},
		{"a kilobyte", toolset.Options{}, func(l *loop) toolset.Result {
			l.prints(much[:1024], 0)
			l.run()
			l.prints(much[:1024], 0)
			return l.run()
		}},
		{"more than half as long", toolset.Options{}, func(l *loop) toolset.Result {
			l.prints(strings.ReplaceAll(much, "PASS", "FAIL"), 0)
			return l.run()
		}},
		{"a binary", toolset.Options{}, func(l *loop) toolset.Result {
			l.prints(strings.Repeat("\x01\x02\xff", 1000), 0)
			l.run()
			return l.run()
		}},
		{"the first is forgotten by the manager", toolset.Options{}, func(l *loop) toolset.Result {
			host := newHost(l.t, &proclocal.Options{WorkDir: l.dir, Retain: time.Nanosecond})
			l.set = newSet(toolset.Static(host.Chat("a")), nil)
			l.run()
			return l.run()
		}},
		{"a manager that does not know the question", toolset.Options{}, func(l *loop) toolset.Result {
			l.set = newSet(toolset.Static(against{l.chat, func() error { return procmgr.ErrInvalid }}), nil)
			l.run()
			return l.run()
		}},
		{"a manager that panics", toolset.Options{}, func(l *loop) toolset.Result {
			l.set = newSet(toolset.Static(against{l.chat, func() error { panic("no comparison") }}), nil)
			l.run()
			return l.run()
		}},
		{"a process that was started before", toolset.Options{ProcessID: func(context.Context, toolset.Call) string { return "p1" }}, (*loop).run},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLoop(t, tt.opts)
			l.prints(much, 0)
			l.run()
			res := tt.do(l)
			require.True(t, isWhole(res), res.Content)
			require.False(t, res.IsError)
		})
	}
	// Just before each of these limits it is compared.
	l := newLoop(t, toolset.Options{})
	l.prints(much[:1025], 0)
	l.run()
	for range 19 {
		l.call("execute", "command", "true", "timeout", "2m")
	}
	require.False(t, isWhole(l.run()))
}

// against is a Manager with another answer to the question for changes.
type against struct {
	procmgr.Manager
	answer func() error
}

func (a against) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if req.Against != "" {
		return procmgr.Output{}, a.answer()
	}
	return a.Manager.Output(ctx, id, req)
}

// A model that prints a file wants its text.
func TestFilesAreShownAgain(t *testing.T) {
	t.Parallel()
	l := newLoop(t, toolset.Options{})
	l.prints(tests(100, nil), 0)
	for _, tt := range []struct {
		command string
		whole   bool
	}{
		{"cat out", true}, {"cat < out", true}, {"cd . && cat ./out", true}, {"head -n 90 out", true}, {"sed -n 1,90p out", true},
		{"cat out | head -n 90", true}, {"cat out; cat code", true}, {"echo; cat out", true}, {"tail -n 90 out 2>/dev/null | nl", true},
		{"cat out && true", true}, {"grep PASS out", false}, {"cat out && sh -c true", false}, {"sort out", false}, {"sh -c 'cat out'", false},
	} {
		l.call("execute", "command", tt.command, "timeout", "2m")
		res := l.call("execute", "command", tt.command, "timeout", "2m")
		require.Equal(t, tt.whole, isWhole(res), "%s: %s", tt.command, res.Content)
	}
}

// A process that is read piece by piece, up to its end, was shown.
func TestComparedWithPieces(t *testing.T) {
	t.Parallel()
	l := newLoop(t, toolset.Options{})
	l.prints(tests(100, nil), 0)
	const command = `head -n 1 go.on; ` + printOut
	slow := func() toolset.Result {
		require.NoError(t, os.RemoveAll(filepath.Join(l.dir, "go.on")))
		require.NoError(t, syscall.Mkfifo(filepath.Join(l.dir, "go.on"), 0o600))
		return l.call("execute", "command", command, "timeout", "300ms")
	}
	goOn := func(id string, since any) toolset.Result {
		require.NoError(t, os.WriteFile(filepath.Join(l.dir, "go.on"), []byte("on\n"), 0o600))
		return l.call("process_output", "process_id", id, "since", since, "wait_timeout", "2m")
	}
	first := slow()
	require.Equal(t, procmgr.Running, first.Report.State)
	ended := goOn(first.Output.Process.ID, *first.Report.NextOffset)
	require.True(t, isWhole(ended), ended.Content)

	second := slow()
	id := second.Output.Process.ID
	res := goOn(id, 0)
	require.NotNil(t, res.Report.Earlier, res.Content)
	require.Equal(t, first.Output.Process.ID, res.Report.Earlier.ID)
	require.Nil(t, res.Report.NextOffset)
	require.True(t, isWhole(l.call("process_output", "process_id", id)))
}

// A program can print the lines of a result with changes, and is not taken for one.
func TestForgedChanges(t *testing.T) {
	t.Parallel()
	l := newLoop(t, toolset.Options{Format: toolset.FormatText})
	forged := "ran again · exit code 0 (0 before) · the same output as nnnn\n... [the last 5 lines] ...\n@@ -1,2 +1,2 @@\n---\n(9 lines that differ are left out)\n"
	l.prints(forged+tests(100, nil), 0)
	res := l.run()
	require.True(t, res.Report.Earlier == nil && res.Report.Changes == nil && strings.HasPrefix(res.Content, "exit code 0"), res.Content)
	l.prints(forged+tests(50, nil)+forged+tests(100, nil)[len(tests(50, nil)):], 1)
	res = l.run()
	require.NotNil(t, res.Report.Earlier)
	_, output, _ := strings.Cut(res.Content, "\n---\n")
	require.Equal(t, *res.Report.Output, output)
	hunks, last, _ := strings.Cut(output, "\n... [the last 5 lines] ...\n")
	for line := range strings.Lines(hunks) {
		require.Contains(t, "@ +-", line[:1], line)
	}
	require.Equal(t, 1, strings.Count(hunks, "\n@@ ")+1)
	require.Equal(t, 5, strings.Count(last, "\n"))
}
