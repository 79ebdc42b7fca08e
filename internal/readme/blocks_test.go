//go:build unix

// Package readme_test tests the documentation. A Go block of a page stands in a Go file of
// the tree, where it is compiled and run, or is a whole program that a test here builds and
// runs. Each other block has a check. A block without one is a failure.
package readme_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

const root = "../.."

// A block is a fenced block of a page.
type block struct {
	page     string // such as "docs/processes.md"
	line     int    // of its first line
	language string // the word after the fence
	text     string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

func TestHeldBlocks(t *testing.T) {
	testenv.Held(t)
	all := readBlocks(t)
	sources := goFiles(t)
	used := make(map[string]bool)
	for _, b := range all {
		t.Run(b.String(), func(t *testing.T) {
			if b.language == "go" {
				if !strings.HasPrefix(b.text, "package main\n") {
					requireCompiled(t, b, sources)
				} // otherwise TestHeldAgent, TestHeldLoop and procotel's TestReadme run it
				return
			}
			for _, c := range checks {
				if strings.HasPrefix(b.page, c.page) && strings.Contains(b.text, c.has) {
					used[c.page+c.has] = true
					c.run(t, b)
					return
				}
			}
			t.Error("there is no check for this block")
		})
	}
	t.Run("checks without a block", func(t *testing.T) {
		for _, c := range checks {
			require.True(t, used[c.page+c.has], "%q in %s", c.has, c.page)
		}
	})
}

// readBlocks returns the blocks of every page of the repository.
func readBlocks(t *testing.T) (all []block) {
	t.Helper()
	walk(t, ".md", func(page, text string) {
		parts := regexp.MustCompile("(?m)^```").Split(text, -1)
		require.Equal(t, 1, len(parts)%2, "%s: a fence has no end", page)
		require.False(t, regexp.MustCompile("(?m)^([ \t]+```|~~~)").MatchString(text), "%s: a fence is ``` at the beginning of its line", page)
		line := 1
		for i, part := range parts {
			if language, code, _ := strings.Cut(part, "\n"); i%2 == 1 {
				all = append(all, block{page, line + 1, language, code})
			} else {
				require.False(t, regexp.MustCompile("\n\n(    |\t)").MatchString(part), "%s: it may have a block without a fence", page)
			}
			line += strings.Count(part, "\n")
		}
	})
	require.NotEmpty(t, all)
	return all
}

// goFiles returns the Go files of the repository, each without its white space.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	sources := make(map[string]string)
	walk(t, ".go", func(name, text string) { sources[name] = words(text) })
	return sources
}

// walk calls visit with the name and the content of each file with a suffix.
func walk(t *testing.T, suffix string, visit func(name, content string)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(name, suffix):
			name, err = filepath.Rel(root, name)
			require.NoError(t, err)
			visit(filepath.ToSlash(name), read(t, name))
		}
		return nil
	}))
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(content)
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// instead has what differs in the tests of the blocks.
var instead = strings.NewReplacer(
	"go test ./...", "echo it runs",
	`"/var/lib/agent/keeper"`, "dir",
	"./server", "sleep 1000",
	`"/srv/project"`, "project",
	`"ssh", "-T"`, `"no-such-way", "-T"`,
	`"https://build.example:8443"`, "url",
	`"127.0.0.1:8080"`, "address",
	`"http://127.0.0.1:8080/procs/"`, `server.URL + "/procs/"`,
)

// requireCompiled looks for a block in the Go files. "// ..." stands for what a reader
// adds, such as a look at err.
func requireCompiled(t *testing.T, b block, sources map[string]string) {
	t.Helper()
	require.NotContains(t, b.text, "/internal/", "%s: readers cannot import it", b)
	parts := regexp.MustCompile(`\n\s*// \.\.\.\n`).Split(instead.Replace(b.text), -1)
	for _, rest := range sources {
		found := true
		for _, part := range parts {
			if _, rest, found = strings.Cut(rest, words(part)); !found {
				break
			}
		}
		if found {
			return
		}
	}
	t.Errorf("%s: no Go file has this block; show an Example, or add a test to %s", b, "internal/readme")
}

// shell runs a command of a page in a directory of the repository.
func shell(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = filepath.Join(root, dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
	return string(out)
}
