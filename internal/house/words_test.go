package house_test

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// clumsy matches words that make a reader hold several things open, where a noun would
// do, or that make a person of what is merely unknown.
var clumsy = regexp.MustCompile(`(?i)\b(?:of which|that of|those of|those that|nobody|whoever)\b`)

const (
	// clumsyPages is how often clumsy may match in 1,000 words of Markdown.
	clumsyPages = 1
	// clumsyComments is how often it may match in 1,000 lines of comments.
	clumsyComments = 2
)

func TestWords(t *testing.T) {
	inRoot(t)
	words, found := 0, 0
	for _, name := range files(t, ".md") {
		page := readFile(t, name)
		words += wordsOf(page)
		found += len(clumsy.FindAllString(page, -1))
	}
	t.Logf("%d in %d words of Markdown", found, words)
	require.LessOrEqual(t, found*1000, clumsyPages*words)

	lines, found := 0, 0
	for _, name := range files(t, ".go") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, group := range file.Comments {
			text := group.Text()
			lines += strings.Count(text, "\n")
			found += len(clumsy.FindAllString(text, -1))
		}
	}
	t.Logf("%d in %d lines of comments", found, lines)
	require.LessOrEqual(t, found*1000, clumsyComments*lines)
}
