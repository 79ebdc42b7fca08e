package toolset_test

import (
	"maps"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
)

// hostNames are names that a host may give the tools.
var hostNames = map[string]string{"execute": "bash", "process_output": "bash_output", "process_list": "jobs", "process_signal": "kill_bash"}

// ownName is a tool by this package's own name.
var ownName = regexp.MustCompile(`\b(execute|process_output|process_list|process_signal)\b`)

// A host's names are the only ones: in the definitions, in each call, and in all
// that a model reads.
func TestNames(t *testing.T) {
	t.Parallel()
	opts := &toolset.Options{Names: maps.Clone(hostNames)}
	set := newSet(toolset.Static(&fake{}), opts)
	opts.Names["execute"], opts.Format = "sh", toolset.FormatText // they are copied
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

	// A tool that is not in the map keeps its name, and two may even change places.
	set = newSet(toolset.Static(&fake{}), &toolset.Options{Names: map[string]string{"process_list": "process_output", "process_output": "process_list"}})
	require.Equal(t, "execute", set.Definitions()[0].Name)
	require.Equal(t, `{"processes":[]}`, set.Call(t.Context(), toolset.Call{Name: "process_output"}).Content)
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
