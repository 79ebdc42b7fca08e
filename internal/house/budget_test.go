package house_test

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A part is some directories with everything below them, and how large they may
// be together, in lines of Go without tests.
type part struct {
	name   string
	dirs   []string
	budget int
}

// parts is the size of everything. The sum counts: a part may be larger than its
// budget if others are smaller by as much. Budgets only go down, unless the commit
// that raises one says what the lines buy. A directory belongs to the part that
// names the longest path above it.
var parts = []part{
	{"output in bounded memory", []string{"headtail"}, 1250},
	{"environment", []string{"envpolicy"}, 1000},
	{"contract", []string{"procmgr", "procmgr/internal/paging"}, 1200},
	{"processes of the system", []string{"procmgr/internal/osproc", "procmgr/internal/procstat", "procmgr/internal/owndir", "procmgr/internal/sentinel"}, 3600},
	{"process output", []string{
		"procmgr/internal/capture", "procmgr/internal/charset", "procmgr/internal/linediff", "procmgr/internal/randre",
		"procmgr/internal/redact",
	}, 3600},
	{"local manager", []string{
		"procmgr/proclocal", "procmgr/internal/screen", "procmgr/internal/sockets", "procmgr/internal/prompt", "procmgr/internal/idempotency",
		"procmgr/internal/baseenv", "procmgr/internal/check", "procmgr/internal/callerr",
	}, 4600},
	{"HTTP", []string{"procmgr/prochttp"}, 3500},
	{"keeper", []string{"procmgr/prockeep"}, 2200},
	{"router", []string{"procmgr/procroute"}, 500},
	{"suite for hosts", []string{"procmgr/proctest"}, 3500},
	{"tools", []string{"chattool"}, 7000},
	{"toolprocd", []string{"cmd"}, 800},
	{"examples", []string{"examples"}, 2600},
	{"everything else", []string{".", ".ci", "internal", "procmgr/internal"}, 1600},
	{"contrib/filetool", []string{"contrib/filetool"}, 4600},
	{"contrib/sandbox", []string{"contrib/sandbox"}, 2200},
	{"contrib/procnats", []string{"contrib/procnats"}, 2000},
	{"contrib/procview", []string{"contrib/procview"}, 1900},
	{"contrib/shellfacts", []string{"contrib/shellfacts"}, 1800},
	{"contrib/mcp", []string{"contrib/mcp"}, 1300},
	{"contrib/acp", []string{"contrib/acp"}, 800},
	{"contrib/procotel", []string{"contrib/procotel"}, 700},
	{"contrib/examples", []string{"contrib/examples"}, 400},
}

// What the parts may have beyond their budgets, because hosts that replay calls, serve
// many users or want traces asked for it; and the budgets of all tests in lines, and of
// all Markdown in words.
const (
	embedding      = 1_300
	testBudget     = 45_000
	markdownBudget = 31_500
)

func TestBudget(t *testing.T) {
	inRoot(t)
	used := make(map[string]int)
	tests := 0
	ci, err := filepath.Glob(".ci/*/*.go")
	require.NoError(t, err)
	for _, name := range append(files(t, ".go"), ci...) {
		lines := strings.Count(readFile(t, name), "\n")
		if strings.HasSuffix(name, "_test.go") {
			tests += lines
			continue
		}
		used[partOf(path.Dir(filepath.ToSlash(name))).name] += lines
	}
	sum, budget := 0, embedding
	for _, p := range parts {
		t.Logf("%6d of %6d: %s", used[p.name], p.budget, p.name)
		sum += used[p.name]
		budget += p.budget
	}
	words := 0
	for _, name := range files(t, ".md") {
		words += wordsOf(readFile(t, name))
	}
	t.Logf("%d of %d lines, %d of %d lines of tests, %d of %d words", sum, budget, tests, testBudget, words, markdownBudget)
	require.LessOrEqual(t, sum, budget, "lines of Go without tests")
	require.LessOrEqual(t, tests, testBudget, "lines of tests")
	require.LessOrEqual(t, words, markdownBudget, "words of Markdown")
}

// partOf returns the part of a directory.
func partOf(dir string) (found part) {
	longest := -1
	for _, p := range parts {
		for _, d := range p.dirs {
			if (below(dir, d) || d == ".") && len(d) > longest {
				found, longest = p, len(d)
			}
		}
	}
	return found
}

// generated is what a test writes into a page.
var generated = regexp.MustCompile(`(?s)<!-- (?:made by|measured):.*?<!-- end of what is (?:made|measured) -->`)

// wordsOf counts the words of a page without its code blocks and without what is
// generated.
func wordsOf(page string) int {
	page = fence.ReplaceAllString(generated.ReplaceAllString(page, ""), "")
	return len(strings.Fields(page))
}
