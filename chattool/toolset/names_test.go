package toolset_test

import (
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

// No text in the source has a tool's own name: the Set fills in each name, whatever the
// outcome of a call is.
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
