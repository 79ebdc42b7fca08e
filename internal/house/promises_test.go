package house_test

import (
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
	declared := regexp.MustCompile(`(?ms)^package \w+_test$.*^func ` + name + `\(`)
	return slices.ContainsFunc(names, func(file string) bool { return declared.MatchString(readFile(t, file)) })
}
