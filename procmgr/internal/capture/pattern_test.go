package capture_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// A pattern that wants a newline, or text behind a $, is refused, with words that help. No
// line matches a refused pattern: checkUntil holds that for random patterns.
func TestPatterns(t *testing.T) {
	for _, tt := range []struct{ name, pattern, advice string }{
		{"text", "listening on 80", ""},
		{"a line", "(?m)^done$", ""},
		{"nothing at all", "x*", ""},
		{"a dot that takes newlines too", "(?s)alpha.beta", ""},
		{"spaces of any kind", `alpha\s+beta`, ""},
		{"an end of either kind", `done(\n|$)`, ""},
		{"a newline that may be missing", `done\n?`, ""},
		{"a group behind the end", `done$(\s*)`, ""},
		{"one alternative of two", `done\n|ready`, ""},
		{"a backslash and an n", `a\\nb`, ""},

		{"two lines", `alpha\nbeta`, "output is searched line by line, and it wants a newline, or text behind a $"},
		{"two lines, written as they are", "alpha\nbeta", "line by line"},
		{"newlines alone", `\n+`, "line by line"},
		{"a class of newlines", `a[\n]b`, "line by line"},
		{"two lines by their anchors", `(?m)a$\n^b`, "line by line"},
		{"all alternatives", `a\n|(b\n|c\nd)`, "line by line"},
		{"text in a group behind the end", `done$(!)`, `or text behind a $`},
		{"a group with the end", `(done$)\.`, `or text behind a $`},
		{"a price", `costs $5`, `write \$ for the character itself`},
		{"so many", `(a\n){2,3}`, "line by line"},

		{"ahead", `foo(?=bar)`, "RE2 has no look-around"},
		{"a backreference", `(a)\1`, "(invalid escape sequence: `\\1`); RE2 has no look-around and no backreferences"},
		{"a shell's star", `*.log`, "(missing argument to repetition operator: `*`)"},
		{"a bracket and a line end", "(\nexit code 0", `the pattern "(\nexit code 0"`},
		{"too long", strings.Repeat("x", 257), "the pattern has 257 bytes, at most 256 are allowed"},
		{"too many instructions", "(abc){400}", "at most 1000 are allowed; use smaller repetitions"},
		{"too large a repeat", "a{1001}", "the pattern"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := capture.NewMatcher(tt.pattern)
			if tt.advice == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, sentinel.ErrInvalid)
			require.ErrorContains(t, err, tt.advice)
			require.NotContains(t, err.Error(), "\n", "it would begin a line of a header")
		})
	}
}
