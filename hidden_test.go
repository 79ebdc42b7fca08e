package toolproc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// valuesOf are the files that may give a context a value, and why.
var valuesOf = map[string]string{
	"procmgr/prockeep/server_unix.go": "net/http gives a connection to its requests in no other way",
	"examples/agent/watcher.go":       "a tool of fantasy gets an argument from its caller in no other way",
	"examples/mcp/server.go":          "a toolset finds the manager of a call in no other way",
	"examples/mcp/tasks.go":           "a handler of the MCP SDK gets an argument from its middleware in no other way",
}

// A call shows all that it depends on: nothing fills a global before main runs, and no
// argument travels in a context.
func TestNothingIsHidden(t *testing.T) {
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for pos, problem := range hidden(file) {
			if _, ok := valuesOf[filepath.ToSlash(name)]; !ok || problem != hiddenValue {
				t.Errorf("%s: %s", fset.Position(pos), problem)
			}
		}
	}
}

const (
	hiddenInit  = "what runs before main fills a global; call it where its result is needed"
	hiddenValue = "an argument travels in a context; give it to the call"
)

// hidden returns the places of a file that hide something.
func hidden(file *ast.File) map[token.Pos]string {
	found := make(map[token.Pos]string)
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.Name == "init" && decl.Recv == nil {
				found[decl.Pos()] = hiddenInit
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				value, ok := spec.(*ast.ValueSpec)
				if !ok || value.Names[0].Name != "_" || len(value.Values) == 0 {
					continue
				}
				if call, ok := value.Values[0].(*ast.CallExpr); ok {
					if _, conversion := call.Fun.(*ast.ParenExpr); !conversion {
						found[value.Pos()] = hiddenInit
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "WithValue" {
			if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "context" {
				found[s.Pos()] = hiddenValue
			}
		}
		return true
	})
	return found
}

func TestHiddenRule(t *testing.T) {
	for name, test := range map[string]struct{ decl, want string }{
		"init":           {decl: "func init() { x = 1 }", want: hiddenInit},
		"a method":       {decl: "func (v t) init() {}"},
		"a call":         {decl: "var _ = offer(1)", want: hiddenInit},
		"a context":      {decl: "func f() { g(context.WithValue(ctx, key, v)) }", want: hiddenValue},
		"an assertion":   {decl: "var _ i = (*t)(nil)"},
		"a global":       {decl: "var x = f()"},
		"a field of one": {decl: "func f() { c.WithValue(1) }"},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n"+test.decl, 0)
		require.NoError(t, err)
		problem := ""
		for _, problem = range hidden(file) {
		}
		require.Equal(t, test.want, problem, name)
	}
}
