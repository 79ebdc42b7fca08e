//go:build linux

package toolset_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// A transcript has calls of tools and their results, as a page shows them.
type transcript struct {
	page string // below the root of the module
	test string // writes the results
	same []sameText
	// before is called before each call of the page, to let time pass there; nil
	// for nothing to call.
	before func(t *testing.T, n int)
}

// sameText is text that differs from run to run, and is the same on a page.
type sameText struct {
	what *regexp.Regexp
	same string
}

// aCall is a call on a page. "…" in place of its result is any result.
var aCall = regexp.MustCompile(`(?m)^→ (\w+) (\{.*\})\n`)

// replay makes the calls that the page has, one after the other and nothing between
// them, and compares the results with the page. So a reader who makes these calls gets
// these results.
func (tr transcript) replay(t *testing.T, set *toolset.Set) {
	t.Helper()
	page := "../../" + tr.page
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	begin := "<!-- made by: go test ./chattool/toolset -run " + tr.test + " -update-docs -->\n```text\n"
	const end = "\n```\n<!-- end of what is made -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "the page has no place for the transcript")
	shown, after, ok := strings.Cut(rest, end)
	require.True(t, ok)

	calls := aCall.FindAllStringSubmatchIndex(shown, -1)
	require.NotEmpty(t, calls)
	require.Zero(t, calls[0][0], "a transcript begins with a call")
	var made strings.Builder
	for n, at := range calls {
		until := len(shown)
		if n+1 < len(calls) {
			until = calls[n+1][0]
		}
		if tr.before != nil {
			tr.before(t, n)
		}
		res := set.Call(t.Context(), toolset.Call{Name: shown[at[2]:at[3]], Arguments: json.RawMessage(shown[at[4]:at[5]])})
		require.False(t, res.IsError, res.Content)
		content := strings.TrimSuffix(res.Content, "\n")
		for _, s := range tr.same {
			content = s.what.ReplaceAllString(content, s.same)
		}
		if strings.TrimSpace(shown[at[1]:until]) == "…" {
			content = "…"
		}
		made.WriteString(shown[at[0]:at[1]] + content + "\n\n")
	}
	results := strings.TrimSuffix(made.String(), "\n\n")
	if *updateDocs {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+results+end+after), 0o644))
		return
	}
	require.Equal(t, shown, results, "go test ./chattool/toolset -run %s -update-docs", tr.test)
}
