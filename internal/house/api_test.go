package house_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateAPI = flag.Bool("update", false, "rewrite the files of the exported API")

// TestAPI compares the exported API of each package with a file in
// testdata/api, so a reviewer sees each change of the API and CHANGELOG.md can
// report it. After such a change, run go test ./internal/house -run TestAPI -update.
// Internal packages are left out, because no other module can import them. The modules
// below the root have theirs here as well.
func TestAPI(t *testing.T) {
	inRoot(t)
	packages := make(map[string][]string) // the files of every platform, by directory
	for _, name := range files(t, ".go") {
		dir := path.Dir(filepath.ToSlash(name))
		if !below(dir, "cmd") && !below(dir, "examples") && !strings.Contains("/"+dir+"/", "/internal/") && !strings.HasSuffix(name, "_test.go") {
			packages[dir] = append(packages[dir], name)
		}
	}
	golden := make(map[string]bool)
	for dir, names := range packages {
		file := filepath.Join("internal", "house", "testdata", "api", strings.ReplaceAll(dir, "/", "-")+".txt")
		if dir == "." {
			file = filepath.Join("internal", "house", "testdata", "api", "toolproc.txt")
		}
		api := exported(t, names)
		if nested(dir) && strings.TrimSpace(api) == "" { // a program, or tests alone
			continue
		}
		golden[file] = true
		if *updateAPI {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(api), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err, "run: go test ./internal/house -run TestAPI -update")
		require.Equal(t, string(want), api, "the API of %s has changed; if that is meant, run go test ./internal/house -run TestAPI -update and tell users in CHANGELOG.md", dir)
	}
	have, err := filepath.Glob(filepath.Join("internal", "house", "testdata", "api", "*"))
	require.NoError(t, err)
	for _, file := range have {
		require.True(t, golden[file], "%s is of no package", file)
	}
}

// exported prints the exported declarations of a package, sorted, without
// bodies, comments and unexported fields.
func exported(t *testing.T, names []string) string {
	t.Helper()
	var all []string
	for _, name := range names {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		if file.Name.Name == "main" {
			return ""
		}
		ast.FileExports(file)
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil && !ast.IsExported(strings.TrimPrefix(types.ExprString(decl.Recv.List[0].Type), "*")) {
					continue
				}
				decl.Body = nil
				all = append(all, source(t, fset, decl))
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if _, imports := spec.(*ast.ImportSpec); !imports {
						all = append(all, decl.Tok.String()+" "+source(t, fset, spec))
					}
				}
			}
		}
	}
	slices.Sort(all)
	// A declaration with a variant for each platform is there once.
	return strings.Join(slices.Compact(all), "\n") + "\n"
}

func source(t *testing.T, fset *token.FileSet, node ast.Node) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&b, fset, node))
	return b.String()
}
