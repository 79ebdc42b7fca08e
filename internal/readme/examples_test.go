//go:build unix

package readme_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// Readers see an Example on pkg.go.dev and copy it from there, without any
// other file of the package. So each Example is a program by itself, and it
// ends the processes that it started. The tests of its package run it.
func TestHeldExamples(t *testing.T) {
	testenv.Held(t)
	module := newUserModule(t)
	found := 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, example := range doc.Examples(file) {
			found++
			where := fmt.Sprintf("%s: Example%s", name, example.Name)
			require.NotNil(t, example.Play, "%s uses what is in another file", where)
			require.NotEmpty(t, example.Output, "%s has no // Output:, and never runs", where)
			if problem := leavesProcesses(example.Play); problem != "" {
				t.Errorf("%s: %s", where, problem)
			}
			inModule := func(dir string) bool { return strings.HasPrefix(filepath.ToSlash(name), root+"/"+dir+"/") }
			if inModule("contrib") {
				continue // its module has what it needs, and compiles it
			}
			var source bytes.Buffer
			require.NoError(t, format.Node(&source, fset, example.Play))
			module.write(t, fmt.Sprintf("%s_%d/main.go", file.Name.Name, found), source.String())
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, found)
	module.run(t, "go", "vet", "./...")
}

// leavesProcesses says how a program that uses a Local may end without calling
// its Close, or returns "" if it cannot.
func leavesProcesses(program *ast.File) string {
	var local, notify, closes token.Pos
	problem := ""
	ast.Inspect(program, func(n ast.Node) bool {
		if d, ok := n.(*ast.DeferStmt); ok && local.IsValid() && !closes.IsValid() {
			if s, ok := d.Call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Close" {
				closes = d.Pos()
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch selector(call.Fun) {
		case "proclocal.New":
			local = call.Pos()
		case "signal.NotifyContext":
			notify = call.Pos()
		case "log.Fatal", "log.Fatalf", "log.Fatalln", "os.Exit":
			if closes.IsValid() {
				problem = "log.Fatal and os.Exit skip the deferred Close"
			}
		}
		return true
	})
	switch {
	case !local.IsValid():
		return ""
	case !closes.IsValid():
		return "its Local has no deferred Close"
	case !notify.IsValid() || notify > local:
		return "without signal.NotifyContext before proclocal.New, Ctrl-C leaves its processes running"
	}
	return problem
}

// selector returns "x.y" for that expression.
func selector(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return x.Name + "." + s.Sel.Name
}
