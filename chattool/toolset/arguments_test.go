package toolset_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// cutOff is said of arguments that end in the middle.
const cutOff = "the arguments end in the middle: your answer was cut off, most likely at its limit of tokens. Nothing was done; make the call again"

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, tool, arguments, want string }{
		{"nothing", "execute", ``, `the argument "command" is missing and required`},
		{"empty command", "execute", `{"command":" \n"}`, `the argument "command" is empty`},
		{"array", "execute", `["ls"]`, `must be a JSON object, not an array`},
		{"bare word", "execute", `ls`, `the arguments must be a JSON object, and begin with "ls"`},
		{"bare word in a string", "execute", `"ls -l"`, `the arguments must be a JSON object, and begin with "ls -l"`},
		{"cut off", "execute", `{"command":"ls`, cutOff},
		{"cut off after a member", "execute", `{"command":"ls"`, cutOff},
		{"cut off in a name", "execute", `{"comm`, cutOff},
		{"cut off in an escape", "execute", `{"command":"ls \`, cutOff},
		{"cut off at once", "execute", `{`, cutOff},
		{"cut off in a string", "execute", `"{\"command\":\"ls`, cutOff},
		{"trailing comma", "execute", `{"command":"ls",}`, `not valid JSON`},
		{"trailing garbage", "execute", `{"command":"ls"} x`, `something follows`},
		{"trailing garbage behind a string", "execute", `"{\"command\":\"ls\"}" x`, `not valid JSON`},
		{"twice", "execute", `{"command":"ls","command":"rm"}`, `the argument "command" is there twice`},
		{"twice by escape", "execute", `{"command":"ls","\u0063ommand":"rm"}`, `is there twice`},
		{"not UTF-8", "execute", "{\"command\":\"a\xff\"}", `not valid UTF-8`},
		{"half a surrogate pair", "execute", `{"command":"rm \ud800"}`, `half of a surrogate pair`},
		{"too large", "execute", `{"command":"` + strings.Repeat("a", 4<<20) + `"}`, `at most 4194304 are taken`},
		{"misspelled", "execute", `{"cmd":"ls"}`, `there is no argument "cmd", it is called "command"; this tool takes command, timeout, workdir, max_output, run_in_background`},
		{"other case", "execute", `{"Command":"ls"}`, `there is no argument "Command", it is called "command"`},
		{"cwd", "execute", `{"command":"ls","cwd":"/"}`, `it is called "workdir"`},
		{"unknown", "execute", `{"command":"ls","zz":1}`, `there is no argument "zz"; this tool takes command,`},
		{"negative offset of a list", "process_list", `{"offset":-1}`, `the argument "offset": got -1, want a whole number`},
		{"next_offset", "process_list", `{"next_offset":20}`, `it is called "offset"`},
		{"no arguments at all", "process_list", `{"all":true}`, `there is no argument "all"; this tool takes offset`},
		{"command as a list", "execute", `{"command":["ls","-l"]}`, `the argument "command": got an array, want a string`},
		{"command as a number", "execute", `{"command":1}`, `the argument "command": got a number, want a string`},
		{"flag", "execute", `{"command":"ls","run_in_background":"maybe"}`, `the argument "run_in_background": got "maybe", want true or false`},
		{"milliseconds", "execute", `{"command":"ls","timeout":120000}`, `the argument "timeout": got 120000 without a unit: milliseconds would be "2m", seconds would be "33h20m"; write the one that is meant`},
		{"absurd", "execute", `{"command":"ls","timeout":1e300}`, `too long`},
		{"negative", "execute", `{"command":"ls","timeout":-1}`, `negative`},
		{"negative with a unit", "execute", `{"command":"ls","timeout":"-1s"}`, `negative`},
		{"not a number", "execute", `{"command":"ls","timeout":"NaN"}`, `want a duration such as "30s" or "1m30s"`},
		{"garbage", "execute", `{"command":"ls","timeout":"soon"}`, `got "soon", want a duration`},
		{"an explanation twice", "execute", `{"command":"ls","description":"a","description":"b"}`, `is there twice`},
		{"duration as a boolean", "execute", `{"command":"ls","timeout":true}`, `got a boolean, want a duration`},
		{"empty id", "process_output", `{"process_id":" "}`, `it is empty; take the process_id`},
		{"id as a list", "process_output", `{"process_id":["a"]}`, `got an array, want a process id`},
		{"endless id", "process_output", `{"process_id":"` + strings.Repeat("a", 65) + `"}`, `at most 64`},
		{"a sentence as the id", "process_output", `{"process_id":"the server"}`, `got "the server", but a process id has only letters, digits, - and _`},
		{"negative offset", "process_output", `{"process_id":"a","since":-1}`, `the argument "since": got -1, want a whole number`},
		{"offset in between", "process_output", `{"process_id":"a","since":1.5}`, `want a whole number`},
		{"offset too large", "process_output", `{"process_id":"a","since":99999999999999999999}`, `want a whole number`},
		{"no port", "process_output", `{"process_id":"a","wait_for_port":65536}`, `the argument "wait_for_port": got 65536, want a port`},
		{"port 0", "process_output", `{"process_id":"a","wait_for_port":0}`, `want a port from 1 to 65535`},
		{"no signal", "process_signal", `{"process_id":"a"}`, `the argument "signal" is missing and required: one of terminate, kill, interrupt`},
		{"other signal", "process_signal", `{"process_id":"a","signal":"SIGSTOP"}`, `got "SIGSTOP", want terminate, kill or interrupt`},
		{"unknown tool", "Execute", `{}`, `there is no tool "Execute"; the tools are execute, process_output, process_list, process_signal`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{}
			res, got := call(t, m, nil, tt.tool, tt.arguments)
			require.True(t, res.IsError)
			require.Nil(t, res.Output)
			require.Equal(t, false, got["success"])
			require.Contains(t, got["error"], tt.want)
			require.Empty(t, m.starts, "nothing runs")
		})
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, timeout string
		want          time.Duration
	}{
		{"seconds with a unit", `"30s"`, 30 * time.Second},
		{"two units", `"1m30s"`, 90 * time.Second},
		{"milliseconds", `"1500ms"`, 1500 * time.Millisecond},
		{"seconds", `30`, 30 * time.Second},
		{"part of a second", `1.5`, 1500 * time.Millisecond},
		{"exponent", `1e1`, 10 * time.Second},
		{"ten minutes", `600`, 10 * time.Minute},
		{"zero seconds", `"0s"`, 0},
		{"empty", `""`, 10 * time.Second},
		{"null", `null`, 10 * time.Second},
		{"the longest", `"4h"`, 4 * time.Hour},
		{"longer", `"96h"`, 4 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{}
			res, _ := call(t, m, nil, "execute", `{"command":"x","timeout":`+tt.timeout+`}`)
			require.False(t, res.IsError, res.Content)
			require.Equal(t, tt.want, m.starts[0].Wait)
			res, _ = call(t, m, nil, "process_output", `{"process_id":"x","wait_timeout":`+tt.timeout+`}`)
			require.False(t, res.IsError, res.Content)
			require.Equal(t, tt.want, m.outputs[0].Wait)
		})
	}
}

// Values that models send against the schema, if their meaning is clear.
func TestTolerance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, tool, arguments string }{
		{"id with space around it", "process_output", `{"process_id":" p1\n"}`},
		{"arguments with space around them", "process_output", " {\"process_id\":\"p1\"}\n"},
		{"arguments in a string", "process_output", `" {\"process_id\":\"p1\"} "`},
		{"offset in a string", "process_output", `{"process_id":"p1","since":"0"}`},
		{"offset with a point", "process_output", `{"process_id":"p1","since":0.0}`},
		{"offset that is empty", "process_output", `{"process_id":"p1","since":""}`},
		{"wait_for null", "process_output", `{"process_id":"p1","wait_for":null}`},
		{"flag as a word", "execute", `{"command":"x","run_in_background":"No"}`},
		{"flag in a string", "execute", `{"command":"x","run_in_background":"false"}`},
		{"escaped replacement rune", "execute", `{"command":"x \uFFFD"}`},
		{"a description of execute", "execute", `{"command":"x","description":"List the files"}`},
		{"a description of process_signal", "process_signal", `{"process_id":"p1","signal":"terminate","description":"Stop it"}`},
		{"SIGTERM", "process_signal", `{"process_id":"p1","signal":"SIGTERM"}`},
		{"term", "process_signal", `{"process_id":"p1","signal":"term"}`},
		{"Terminate", "process_signal", `{"process_id":"p1","signal":" Terminate "}`},
		{"list with nothing", "process_list", ``},
		{"list with an empty object", "process_list", `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{output: func(_ context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
				require.Equal(t, "p1", id)
				return exited(id, 0, ""), nil
			}}
			res, _ := call(t, m, nil, tt.tool, tt.arguments)
			require.False(t, res.IsError, res.Content)
			for _, sig := range m.signals {
				require.Equal(t, procmgr.Terminate, sig)
			}
			for _, req := range m.starts {
				require.False(t, req.Background)
			}
		})
	}
	m := &fake{}
	for _, yes := range []string{"yes", "Yes", "on", "TRUE"} {
		call(t, m, nil, "execute", `{"command":"x","run_in_background":"`+yes+`"}`)
		require.True(t, m.starts[len(m.starts)-1].Background, yes)
	}
	call(t, m, nil, "process_signal", `{"process_id":234567,"signal":"INT"}`)
	call(t, m, nil, "process_signal", `{"process_id":"a","signal":"9"}`)
	require.Equal(t, []procmgr.Signal{procmgr.Interrupt, procmgr.Kill}, m.signals)
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	set := newSet(nowhere, &toolset.Options{Input: true, DefaultTimeout: 90 * time.Second, MaxTimeout: time.Hour})
	defs := set.Definitions()
	var names []string
	for _, def := range defs {
		names = append(names, def.Name)
		require.Equal(t, def.Name == "process_output" || def.Name == "process_list", def.Parallel)
		require.NotRegexp(t, `\$|\{(default|max)\}`, string(def.Schema), "providers refuse $schema, $id and $ref")
		schema := def.SchemaMap()
		require.Equal(t, "object", schema["type"])
		require.Equal(t, false, schema["additionalProperties"])
		for name, property := range schema["properties"].(map[string]any) {
			require.NotEmpty(t, property.(map[string]any)["description"], name)
			require.NotEmpty(t, property.(map[string]any)["type"], name)
		}
	}
	require.Equal(t, []string{"execute", "process_output", "process_list", "process_signal", "process_input"}, names)
	require.Contains(t, string(defs[0].Schema), "default 1m30s, at most 1h.")

	// The caller owns the returned definitions.
	clear(defs[0].Schema)
	defs[1].SchemaMap()["type"] = "other"
	defs[1].Name = "other"
	require.Equal(t, "object", set.Definitions()[0].SchemaMap()["type"])
	require.Equal(t, "object", set.Definitions()[1].SchemaMap()["type"])
	require.Equal(t, "process_output", set.Definitions()[1].Name)
	require.Nil(t, toolset.Definition{}.SchemaMap())
}

// A model that is held to a strict schema sends null for what it leaves out.
func TestNullIsLeftOut(t *testing.T) {
	set := newSet(toolset.Static(newHost(t, nil).Chat("a")), &toolset.Options{Input: true})
	args := make(map[string]any)
	for name := range set.Definitions()[0].SchemaMap()["properties"].(map[string]any) {
		args[name] = nil
	}
	args["command"] = "echo it runs"
	data, err := json.Marshal(args)
	require.NoError(t, err)
	res := say(t, set, "execute", string(data))
	require.False(t, res.IsError, res.Content)
	require.Equal(t, "it runs\n", res.Output.Text)
}
