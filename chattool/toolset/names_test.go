package toolset_test

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// hostNames are names that a host may give the tools.
var hostNames = map[string]string{"execute": "bash", "process_output": "bash_output", "process_list": "jobs", "process_signal": "kill_bash"}

// ownName is a tool by this package's own name.
var ownName = regexp.MustCompile(`\b(execute|process_output|process_list|process_signal)\b`)

// A host's names are the only ones: in the definitions, in each call, and in all
// that a model reads.
func TestNames(t *testing.T) {
	t.Parallel()
	set := newSet(toolset.Static(&fake{}), &toolset.Options{Names: hostNames})
	var names []string
	for _, def := range set.Definitions() {
		names = append(names, def.Name)
		require.NotRegexp(t, ownName, def.Description)
		require.NotRegexp(t, ownName, string(def.Schema))
		require.NotRegexp(t, `[{}]`, def.Description)
	}
	require.Equal(t, []string{"bash", "bash_output", "jobs", "kill_bash"}, names)
	require.Contains(t, set.Definitions()[0].Description, "with bash_output and kill_bash")
	require.Contains(t, string(set.Definitions()[1].Schema), "From bash or jobs.")

	res := set.Call(t.Context(), toolset.Call{Name: "bash", Arguments: []byte(`{"command":"x"}`)})
	require.False(t, res.IsError)
	for own := range hostNames {
		res := set.Call(t.Context(), toolset.Call{Name: own, Arguments: []byte(`{"command":"x","process_id":"p1","signal":"kill"}`)})
		require.True(t, res.IsError)
		require.Equal(t, `there is no tool "`+own+`"; the tools are bash, bash_output, jobs, kill_bash`, contents(t, res)["error"])
	}
	res = set.Call(t.Context(), toolset.Call{Name: "bash", Arguments: []byte(`{}`)})
	require.Equal(t, `bash: the argument "command" is missing and required`, contents(t, res)["error"])
}

func TestNamesOfSomeTools(t *testing.T) {
	t.Parallel()
	// Two may even change places.
	names := map[string]string{"execute": "bash", "process_list": "process_output", "process_output": "process_list"}
	opts := &toolset.Options{Names: names}
	set := newSet(toolset.Static(&fake{}), opts)
	names["execute"] = "sh" // the map is copied
	var got []string
	for _, def := range set.Definitions() {
		got = append(got, def.Name)
	}
	require.Equal(t, []string{"bash", "process_list", "process_output", "process_signal"}, got)
	res := set.Call(t.Context(), toolset.Call{Name: "process_output"})
	require.Equal(t, `{"processes":[]}`, res.Content)
}

// A mistake of the host is told to the host, and not to the model.
func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, resolver := range map[string]toolset.Resolver{"nil": nil, "of nil": toolset.Static(nil), "of a nil pointer": toolset.Static((*fake)(nil))} {
		set, err := toolset.New(resolver, nil)
		require.Nil(t, set, name)
		require.ErrorContains(t, err, "toolset: new: no process manager", name)
	}
	for _, limit := range []headtail.Limits{{Bytes: -1}, {Line: -1}} {
		_, err := toolset.New(toolset.Static(&fake{}), &toolset.Options{Limit: limit})
		require.ErrorContains(t, err, "toolset: new: Options.Limit is negative")
	}
	for _, tt := range []struct {
		name  string
		names map[string]string
		want  string
	}{
		{"unknown", map[string]string{"exec": "bash"}, `it has "exec", but the tools are execute, process_output, process_list, process_signal`},
		{"a host's name as the key", map[string]string{"bash": "execute"}, `it has "bash"`},
		{"empty", map[string]string{"process_list": ""}, `it has no name for process_list`},
		{"twice", map[string]string{"execute": "run", "process_output": "run"}, `it calls two tools "run"`},
		{"the name of another", map[string]string{"execute": "process_signal"}, `it calls two tools "process_signal"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := toolset.New(toolset.Static(&fake{}), &toolset.Options{Names: tt.names})
			require.ErrorContains(t, err, "toolset: new: Options.Names: "+tt.want)
		})
	}
}

// Whatever the outcome of a call is, the model reads the host's names.
func TestNamesInResults(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	show := func(_, content string) {
		require.NotRegexp(t, ownName, content)
		for _, name := range hostNames {
			seen[name] = seen[name] || strings.Contains(content, name)
		}
	}
	eachFailure(t, hostNames, show)

	withCommand := func(out procmgr.Output, command string) procmgr.Output {
		out.Process.Command = command
		out.Process.EndedBy = procmgr.CauseExit
		return out
	}
	cut := exited("p1", 0, "x")
	cut.Truncated = &headtail.Truncation{OriginalBytes: 9, RetainedBytes: 1, OmittedBytes: 8, Strategy: "head_tail"}
	cut.Process.LogPath = "/log"
	attached := running("p1", "")
	attached.Attached = true
	ended := func(cause procmgr.Cause, signal string) procmgr.Output {
		out := exited("p1", 137, "")
		out.Process.EndedBy, out.Process.Signal = cause, signal
		return out
	}
	matched := running("p1", "ready")
	matched.Matched = true
	withheld := withCommand(exited("p1", 1, ""), "x")
	withheld.Withheld = []string{"GH_TOKEN"}
	elsewhere := running("p1", "")
	elsewhere.Process.WorkDir, elsewhere.PassedOver = "/home", "no such directory: /srv"
	ran := withCommand(exited("p1", 0, ""), "sleep 60")
	ran.Process.Elapsed = 1e11
	for _, tt := range []struct {
		out     procmgr.Output
		command string
	}{
		{exited("p1", 0, "x"), "x"}, {running("p1", ""), "x"}, {detached("p1", 0, ""), "server & sleep 1"},
		{running("p1", ""), "server &"}, {attached, "x"}, {cut, "x"}, {elsewhere, "x"}, {withheld, "echo $GH_TOKEN"},
		{withCommand(exited("p1", 0, "x\n"), ""), "go test ./... | tail -5"},
		{withCommand(exited("p1", 1, ""), ""), "go test ./... | grep FAIL"},
		{withCommand(exited("p1", 124, ""), ""), "timeout 5 x"},
		{withCommand(exited("p1", 126, ""), ""), "./x"},
		{withCommand(exited("p1", 127, ""), ""), "x"},
		{withCommand(exited("p1", 139, ""), ""), "x; y"},
		{withCommand(exited("p1", 1, "Continue? [y/N] "), ""), "x"},
		{withCommand(exited("p1", 0, "x"), ""), "cat f"},
		{ran, "sleep 60"},
		{ended(procmgr.CauseSignal, "SIGKILL"), "x"}, {ended(procmgr.CauseRequest, "SIGKILL"), "x"},
		{ended(procmgr.CauseShutdown, "SIGKILL"), "x"}, {ended(procmgr.CauseLost, ""), "x"}, {matched, "x"},
	} {
		set := newSet(toolset.Static(&fake{
			start:  answerStart(tt.out),
			output: answerOutput(tt.out),
			list:   func(context.Context) ([]procmgr.Process, error) { return []procmgr.Process{tt.out.Process}, nil },
		}), &toolset.Options{Names: hostNames})
		for _, c := range []struct{ tool, arguments string }{
			{"bash", arguments(t, "command", tt.command, "timeout", "9h")},
			{"bash", arguments(t, "command", tt.command, "run_in_background", true)},
			{"bash", `{"comand":1}`},
			{"bash_output", `{"process_id":"p1"}`},
			{"bash_output", `{"process_id":"p1","wait_for":"x","since":99,"wait_timeout":"9h"}`},
			{"bash_output", `{"process_id":""}`},
			{"bash_output", `{"process_id":"a b"}`},
			{"jobs", `{}`},
			{"jobs", `{"x":1}`},
			{"kill_bash", `{"process_id":"p1","signal":"terminate"}`},
			{"kill_bash", `{"process_id":"p1","signal":"interrupt"}`},
			{"kill_bash", `{"process_id":"p1","signal":"kill"}`},
			{"kill_bash", `{}`},
			{"other", `{}`},
		} {
			show(c.tool, set.Call(t.Context(), toolset.Call{Name: c.tool, Arguments: json.RawMessage(c.arguments)}).Content)
		}
	}
	panics := &fake{start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { panic("ouch") }}
	set := newSet(toolset.Static(panics), &toolset.Options{Names: hostNames})
	show("execute", set.Call(t.Context(), toolset.Call{Name: "bash", Arguments: []byte(`{"command":"x"}`)}).Content)
	set = newSet(func(context.Context) (procmgr.Manager, error) { return nil, nil }, &toolset.Options{Names: hostNames})
	show("execute", set.Call(t.Context(), toolset.Call{Name: "bash", Arguments: []byte(`{"command":"x"}`)}).Content)
	require.Len(t, seen, len(hostNames))
	for name, said := range seen {
		require.True(t, said, "no result names %s", name)
	}
}

// No text in the source has a tool's own name: the Set fills in each name. This
// covers the texts that no call above produces.
func TestTextsHaveNoNames(t *testing.T) {
	t.Parallel()
	checked := 0
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name == "names.go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			checked++
			text, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			if tag := reflect.StructTag(text).Get("description"); tag != "" {
				text = tag
			}
			for own := range hostNames {
				text = strings.ReplaceAll(text, "{"+own+"}", "")
			}
			require.NotRegexp(t, ownName, text, "%s: put the name in by fill or names", name)
			return true
		})
		return nil
	}))
	require.Greater(t, checked, 200)
}
