package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// promiseTest is a test as docs/promises.md names it: a function of a package,
// or a case of the suite.
var promiseTest = regexp.MustCompile("`(?:([a-z]+)\\.(Test[A-Za-z0-9]+)|proctest ([a-z]+)/([^`]+))`")

// Every promise has tests, each of them exists, and none is a test of internals.
func TestPromises(t *testing.T) {
	inRoot(t)
	dirs := make(map[string]string) // by package
	for _, name := range files(t, ".go") {
		dir := filepath.Dir(name)
		if slash := filepath.ToSlash(dir); !strings.Contains("/"+slash+"/", "/internal/") && !below(slash, "examples") {
			dirs[filepath.Base(dir)] = dir
		}
	}
	suite := ""
	for _, name := range files(t, ".go") {
		if filepath.ToSlash(filepath.Dir(name)) == "procmgr/proctest" {
			suite += readFile(t, name)
		}
	}
	page := readFile(t, filepath.Join("docs", "promises.md"))
	promises := 0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		promises++
		tests := promiseTest.FindAllStringSubmatch(line, -1)
		require.NotEmpty(t, tests, "no test holds: %s", line)
		for _, test := range tests {
			if test[1] == "" {
				_, cases, ok := strings.Cut(suite, "\nvar "+test[3]+"Cases = []testCase{\n")
				cases, _, _ = strings.Cut(cases, "\n}\n")
				require.True(t, ok && strings.Contains(cases, `	{"`+test[4]+`", `), "proctest has no such case: %s", test[0])
				continue
			}
			dir, ok := dirs[test[1]]
			require.True(t, ok, "no package %s: %s", test[1], test[0])
			require.True(t, hasTest(t, dir, test[2]), "%s has no black-box test %s", dir, test[2])
		}
	}
	require.NotZero(t, promises)
}

// hasTest reports whether a directory has a test of that name in an external
// test package.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	return slices.ContainsFunc(names, func(file string) bool {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		return strings.HasSuffix(parsed.Name.Name, "_test") && declares(parsed, name)
	})
}

// declares reports whether a file declares a function of that name.
func declares(file *ast.File, name string) bool {
	return slices.ContainsFunc(file.Decls, func(decl ast.Decl) bool {
		function, ok := decl.(*ast.FuncDecl)
		return ok && function.Recv == nil && function.Name.Name == name
	})
}
