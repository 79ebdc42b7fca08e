package toolproc_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// maxCircle is how many files of a package may need each other. Whoever
	// changes one of them has to know all.
	maxCircle = 12
	// halfFrom is from how many files on a circle may have half of them at most.
	halfFrom = 12
)

// TestRooms counts, in each package, how many files use each other, directly or
// through others.
func TestRooms(t *testing.T) {
	packages := make(map[string][]string) // file names, by directory
	for _, name := range files(t, ".go") {
		if !strings.HasSuffix(name, "_test.go") {
			packages[filepath.Dir(name)] = append(packages[filepath.Dir(name)], filepath.Base(name))
		}
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		system := build.Default
		system.GOOS, system.CgoEnabled = goos, false
		for dir, names := range packages {
			circle, n := circleOf(t, system, dir, names)
			limit := maxCircle
			if n >= halfFrom {
				limit = min(limit, n/2)
			}
			if len(circle) > limit {
				t.Errorf("%s, %s: %d of %d files need each other, and %d may: %s", dir, goos, len(circle), n, limit, strings.Join(circle, " "))
			}
		}
	}
}

// circleOf returns the largest circle of files of a package that use each other on
// a system, and how many files the package has there.
func circleOf(t *testing.T, system build.Context, dir string, names []string) (circle []string, n int) {
	t.Helper()
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		ok, err := system.MatchFile(dir, name)
		require.NoError(t, err)
		if !ok {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, file)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: hollow{}, Error: func(error) {}} // what is imported is not looked at
	pkg, _ := config.Check(dir, fset, parsed, info)
	uses := make(map[string]map[string]bool)
	for name, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			continue
		}
		from, to := filepath.Base(fset.File(name.Pos()).Name()), filepath.Base(fset.File(object.Pos()).Name())
		if uses[from] == nil {
			uses[from] = make(map[string]bool)
		}
		uses[from][to] = true
	}
	reach := make(map[string]map[string]bool)
	for from := range uses {
		reach[from] = make(map[string]bool)
		for next := []string{from}; len(next) > 0; next = next[1:] {
			for to := range uses[next[0]] {
				if !reach[from][to] {
					reach[from][to] = true
					next = append(next, to)
				}
			}
		}
	}
	for from := range reach {
		var members []string
		for to := range reach[from] {
			if to != from && reach[to][from] {
				members = append(members, to)
			}
		}
		if len(members) > 0 && len(members)+1 > len(circle) {
			circle = append(members, from)
		}
	}
	slices.Sort(circle)
	return circle, len(parsed)
}

// hollow imports packages without anything in them.
type hollow struct{}

func (hollow) Import(name string) (*types.Package, error) {
	base := path.Base(name)
	if strings.HasPrefix(base, "v") && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(name))
	}
	pkg := types.NewPackage(name, base)
	pkg.MarkComplete()
	return pkg, nil
}

// A circle is found, and its size is not that of the package.
func TestCircles(t *testing.T) {
	dir := t.TempDir()
	sources := map[string]string{
		"a.go": "package p\nfunc a() { b() }",
		"b.go": "package p\ntype t struct{ n int }\nfunc b() { var v t; v.c() }",
		"c.go": "package p\nfunc (v t) c() { a() }",
		"d.go": "package p\nimport \"fmt\"\nfunc d() { a(); fmt.Println() }",
		"e.go": "//go:build plan9\n\npackage p\nfunc e() { d() }",
	}
	for name, text := range sources {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	circle, n := circleOf(t, build.Default, dir, slices.Sorted(maps.Keys(sources)))
	require.Equal(t, []string{"a.go", "b.go", "c.go"}, circle)
	require.Equal(t, 4, n)
}
