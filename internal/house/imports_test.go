package house_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/toolproc/toolproc"

// These are the packages outside of the standard library and this module. A
// name stands for the package and every package below it.
const (
	fantasy    = "charm.land/fantasy"
	jsonschema = "github.com/invopop/jsonschema"
	shell      = "mvdan.cc/sh/v3/syntax"
	sys        = "golang.org/x/sys"
	testify    = "github.com/stretchr/testify/require"
	terminals  = "github.com/creack/pty"
	emulator   = "github.com/hinshun/vt10x"
	strictJSON = "github.com/go-json-experiment/json" // encoding/json/v2 for a Go that does not have it
	xerrors    = "golang.org/x/xerrors"
	encodings  = "golang.org/x/text/encoding"
)

// An arrow lists the packages that a package may import besides the standard
// library. Its tests may import any.
type arrow struct {
	dir     string   // "examples/..." is every package below examples
	module  []string // packages of this module
	outside []string // packages of other modules
	why     string
}

// arrows go from the bottom up: a package may import only packages above it in
// this list, so that no import points the other way.
var arrows = []arrow{
	{
		dir: ".",
		why: "the landing page has no code",
	},
	{
		dir: "internal/testenv",
		why: "a test that needs a thing that some machines lack says so in one way; only tests import it",
	},
	{
		dir: "internal/beside",
		why: "benchmarks that compare two ways do it in one way; only tests import it",
	},
	{
		dir: "headtail",
		why: "a program that only bounds some output takes this package and nothing else",
	},
	{
		dir: "headtail/plaintext",
		why: "a program that only wants plain text takes this package and nothing else",
	},
	{
		dir: "envpolicy",
		why: "a policy is for any program that starts children, however it starts them",
	},
	{
		dir: "procmgr/internal/sentinel",
		why: "the packages below procmgr share its errors, and share nothing else with it",
	},
	{
		dir: "procmgr/internal/leftover",
		why: "the tests of procmgr and of every package below it use it to find what they have left behind",
	},
	{
		dir: "procmgr/internal/owndir",
		why: "a directory with a lock is for logs and cgroups alike, and knows neither",
	},
	{
		dir: "procmgr/internal/randre",
		why: "it makes patterns for the tests of what searches for them",
	},
	{
		dir: "procmgr/internal/procstat",
		why: "a keeper, its holder and a Local name a process in the same way, and share no more of the system than that",
	},
	{
		dir:     "procmgr/internal/sockets",
		outside: []string{sys, xerrors},
		why:     "it knows network namespaces and descriptors, and a process by its number alone",
	},
	{
		dir:     "procmgr/internal/prompt",
		module:  []string{"procmgr/internal/procstat"},
		outside: []string{sys},
		why:     "it knows what the system tells of a program that reads, and when to look; it knows neither who started the program nor who asks",
	},
	{
		dir:    "procmgr/internal/linediff",
		module: []string{"headtail"},
		why:    "it compares two texts, and knows neither processes nor where their output is kept",
	},
	{
		dir:     "procmgr/internal/screen",
		outside: []string{emulator},
		why:     "it draws what a terminal shows, and knows no terminal and no process; the emulator is a library's, and no other package sees it",
	},
	{
		dir: "procmgr/internal/redact",
		why: "it masks values in a stream, and knows neither where they come from nor who reads it",
	},
	{
		dir:     "procmgr/internal/charset",
		outside: []string{sys, encodings, "golang.org/x/text/transform"},
		why:     "it decodes bytes, and knows neither what prints them nor who reads them; the tables of the encodings are a library's",
	},
	{
		dir:     "procmgr/internal/capture",
		module:  []string{"headtail", "headtail/plaintext", "procmgr/internal/charset", "procmgr/internal/linediff", "procmgr/internal/owndir", "procmgr/internal/redact", "procmgr/internal/sentinel"},
		outside: []string{xerrors},
		why:     "it keeps output and knows no process: to change how output is kept, nobody has to read about systems",
	},
	{
		dir:     "procmgr/internal/osproc",
		module:  []string{"procmgr/internal/owndir", "procmgr/internal/procstat", "procmgr/internal/sentinel", "procmgr/internal/sockets", "procmgr/internal/prompt"},
		outside: []string{terminals, sys, xerrors},
		why:     "it runs a command by each platform's means, which takes system calls that package syscall lacks; it knows no chat, ID, record or limit, so that no platform's file can touch one",
	},
	{
		dir:     "procmgr/internal/paging",
		module:  []string{"procmgr/internal/sentinel"},
		outside: []string{xerrors},
		why:     "the contract and the manager of this machine pick a page alike, and it knows neither",
	},
	{
		dir:     "procmgr",
		module:  []string{"headtail", "procmgr/internal/paging", "procmgr/internal/sentinel"},
		outside: []string{xerrors},
		why:     "it is the contract alone: a program with nothing but a client links no code that runs a process",
	},
	{
		dir:     "procmgr/internal/asktest",
		module:  []string{"procmgr", "internal/testenv"},
		outside: []string{testify},
		why:     "the programs that ask, and those that do not, are the same for each Host; only tests import it",
	},
	{
		dir:     "procmgr/internal/baseenv",
		module:  []string{"envpolicy", "procmgr", "procmgr/internal/osproc", "procmgr/internal/redact"},
		why:     "what a command starts from goes from a keeper's caller to a Local in a context, so no exported name shows it",
		outside: []string{xerrors},
	},
	{
		dir:     "procmgr/internal/idempotency",
		module:  []string{"procmgr"},
		outside: []string{xerrors},
		why:     "it remembers the answers to requests, and knows nothing of what they ask for",
	},
	{
		dir:    "procmgr/internal/callerr",
		module: []string{"procmgr"},
		why:    "every Manager names the call that failed in the same form",
	},
	{
		dir:     "procmgr/internal/check",
		module:  []string{"procmgr"},
		outside: []string{xerrors},
		why:     "every Manager refuses a request for the same reasons",
	},
	{
		dir:     "procmgr/proclocal/internal/input",
		module:  []string{"procmgr", "procmgr/internal/idempotency", "procmgr/internal/capture", "procmgr/internal/check", "procmgr/internal/osproc", "procmgr/internal/screen", "procmgr/internal/redact"},
		outside: []string{xerrors},
		why:     "it writes to the stdin of one process, and knows no chat, ID, record or limit",
	},
	{
		dir:     "procmgr/proclocal",
		module:  []string{"headtail", "envpolicy", "procmgr/proclocal/internal/input", "procmgr/internal/baseenv", "procmgr/internal/capture", "procmgr/internal/idempotency", "procmgr/internal/osproc", "procmgr/internal/paging", "procmgr/internal/sentinel", "procmgr", "procmgr/internal/callerr", "procmgr/internal/check", "procmgr/internal/redact", "procmgr/internal/prompt", "procmgr/internal/linediff"},
		outside: []string{xerrors},
		why:     "it is the bookkeeping of the processes of this machine; packages that keep output and run commands stand below it, and packages that serve or test it stand above it",
	},
	{
		dir:     "procmgr/procroute",
		module:  []string{"headtail", "procmgr", "procmgr/internal/callerr", "procmgr/internal/check"},
		outside: []string{xerrors},
		why:     "it knows Hosts by their interface alone",
	},
	{
		dir:     "procmgr/prochttp",
		module:  []string{"procmgr", "procmgr/internal/idempotency", "procmgr/internal/callerr", "procmgr/internal/check", "headtail"},
		outside: []string{strictJSON, xerrors},
		why:     "a client and a handler know a Host and the limits of a text; how processes run is not their business, and net/http routes well enough; encoding/json guesses what a handler must refuse",
	},
	{
		dir:     "procmgr/proctest",
		module:  []string{"procmgr", "headtail", "procmgr/internal/callerr", "procmgr/internal/capture", "procmgr/internal/check", "procmgr/internal/idempotency"},
		outside: []string{xerrors},
		why:     "the suite tests any Host by its interface alone, and its users get no assertion library with it; a Script keeps output as a Local does",
	},
	{
		dir: "procmgr/prockeep",
		module: []string{
			"headtail", "procmgr", "procmgr/proclocal", "procmgr/prochttp", "procmgr/procroute",
			"procmgr/internal/baseenv", "procmgr/internal/callerr", "procmgr/internal/check", "procmgr/internal/idempotency", "procmgr/internal/osproc", "procmgr/internal/owndir", "procmgr/internal/procstat", "procmgr/internal/redact",
		},
		outside: []string{sys, xerrors},
		why:     "a keeper is a handler of a Local on a socket, and a client of it; what is its own is how it is found, started and ended, which takes system calls that package syscall lacks",
	},
	{
		dir: "chattool/internal/wording",
		why: "it writes a value into a sentence, and does not know which sentence",
	},
	{
		dir:     "chattool/arguments",
		module:  []string{"chattool/internal/wording", "procmgr"},
		outside: []string{jsonschema, xerrors},
		why:     "it reads what a model sends; which tool takes which argument is the toolset's to say",
	},
	{
		dir:     "chattool/toolset/internal/script",
		outside: []string{shell},
		why:     "it reads the text of a command, and does not know how commands run or which notes a model reads",
	},
	{
		dir:     "chattool/toolset/internal/advice",
		module:  []string{"chattool/toolset/internal/script", "chattool/internal/wording", "procmgr"},
		outside: []string{shell},
		why:     "it makes a note from a command and its result; the toolset makes the calls and writes the results",
	},
	{
		dir:     "chattool/toolset",
		module:  []string{"chattool/toolset/internal/script", "chattool/internal/wording", "chattool/toolset/internal/advice", "chattool/arguments", "procmgr", "headtail"},
		outside: []string{xerrors},
		why:     "a custom loop does not need fantasy: a program that links it grows from 3 MB to 12 MB",
	},
	{
		dir:     "chattool",
		module:  []string{"chattool/toolset", "procmgr", "headtail"},
		outside: []string{fantasy, xerrors},
		why:     "it only turns a toolset into tools of fantasy; schemas and shell syntax stay in toolset, where every loop gets them",
	},
	{
		dir: "examples/internal/dialogue",
		why: "it prints the conversations of the examples, and knows no speaker",
	},
	{
		dir: "examples/internal/interrupt",
		why: "the examples end at a signal alike, whatever they run",
	},
	{
		dir:     "examples/internal/exampletest",
		module:  []string{"envpolicy", "examples/internal/dialogue"},
		outside: []string{testify},
		why:     "what the tests of the examples do alike; only tests import it",
	},
	{
		dir: "examples/...",
		module: []string{
			"headtail", "headtail/plaintext", "envpolicy",
			"procmgr", "procmgr/prochttp", "procmgr/prockeep", "procmgr/proclocal", "procmgr/procroute", "procmgr/proctest",
			"chattool", "chattool/toolset",
			"examples/internal/dialogue", "examples/internal/interrupt",
		},
		outside: []string{fantasy, xerrors},
		why:     "an example uses only what a user can use; an example that needs another dependency is a module of its own, so that users of the library do not get that dependency",
	},
}

// TestImports reads the files of every platform and build tag.
func TestImports(t *testing.T) {
	inRoot(t)
	for _, name := range files(t, ".go") {
		dir := path.Dir(filepath.ToSlash(name))
		if nested(dir) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		arrow, ok := arrowOf(dir)
		if !ok {
			t.Errorf("%s: the package %s has no arrow; add it to the table in imports_test.go, below everything that it imports, with what it may import and why", name, dir)
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if problem := arrow.check(dir, imported); problem != "" {
				t.Errorf("%s: %s", fset.Position(spec.Pos()), problem)
			}
		}
	}
}

func TestArrowsPointOneWay(t *testing.T) {
	inRoot(t)
	var above []string
	for _, a := range arrows {
		require.NotEmpty(t, a.why, a.dir)
		for _, imported := range a.module {
			require.Contains(t, above, imported, "%s may import %s only if that stands above it in the table", a.dir, imported)
		}
		above = append(above, a.dir)
	}
}

// The table lists the direct imports of a package. This test checks the packages that
// come with them: a program that imports one of these packages links none of the others.
func TestLinks(t *testing.T) {
	inRoot(t)
	processes := []string{module + "/procmgr/internal/osproc", module + "/procmgr/internal/capture", terminals, emulator}
	for dir, none := range map[string][]string{
		"procmgr":           append([]string{"net/http", "os/exec"}, processes...),
		"procmgr/procroute": processes,
		"procmgr/prochttp":  processes, // for its client, and for its handler
		"chattool/toolset":  append([]string{fantasy}, processes...),
		"chattool":          processes,
	} {
		linked, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+dir).Output()
		require.NoError(t, err)
		for name := range strings.Lines(string(linked)) {
			name = strings.TrimSpace(name)
			require.False(t, slices.ContainsFunc(none, func(other string) bool { return below(name, other) }), "%s links %s", dir, name)
			if inModule, ok := strings.CutPrefix(name, module+"/"); ok && dir == "procmgr" {
				require.Contains(t, []string{"headtail", "procmgr/internal/paging", "procmgr/internal/sentinel", dir}, inModule, "the contract needs no more")
			}
		}
	}
}

func arrowOf(dir string) (arrow, bool) {
	for _, a := range arrows {
		if parent, all := strings.CutSuffix(a.dir, "/..."); a.dir == dir || all && below(dir, parent) {
			return a, true
		}
	}
	return arrow{}, false
}

// check returns why a file in dir may not import a package, or "".
func (a arrow) check(dir, imported string) string {
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") && imported != "C" {
		return ""
	}
	if inModule, ok := strings.CutPrefix(imported, module); ok && (inModule == "" || inModule[0] == '/') {
		if slices.Contains(a.module, strings.TrimPrefix(inModule, "/")) {
			return ""
		}
	} else if slices.ContainsFunc(a.outside, func(name string) bool { return below(imported, name) }) {
		return ""
	}
	return fmt.Sprintf("%s may not import %s: %s (if that is no longer true, change the table in imports_test.go)", dir, imported, a.why)
}

// below reports whether a path is parent or lies below it.
func below(name, parent string) bool {
	return name == parent || strings.HasPrefix(name, parent+"/")
}

// nested reports whether a directory belongs to a module below this one.
func nested(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(dir), "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// The root never imports contrib. A module of contrib imports no internal package
// of the root, because it would compile against another version's internals by luck.
func TestContrib(t *testing.T) {
	inRoot(t)
	for _, name := range files(t, ".go") {
		inContrib := below(filepath.ToSlash(name), "contrib")
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			inModule, ours := strings.CutPrefix(imported, module+"/")
			switch {
			case !ours:
			case inContrib && !below(inModule, "contrib"):
				require.NotContains(t, "/"+inModule+"/", "/internal/", "%s imports %s", name, inModule)
			case !inContrib && !nested(path.Dir(filepath.ToSlash(name))):
				require.False(t, below(inModule, "contrib"), "%s imports %s", name, inModule)
			}
		}
	}
}
