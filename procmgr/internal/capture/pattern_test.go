package capture_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// What no line can match is refused, with words that help, and nothing else is.
func TestPatterns(t *testing.T) {
	for _, tt := range []struct{ name, pattern, advice string }{
		{"text", "listening on 80", ""},
		{"a line", "^done$", ""},
		{"an empty line", "^$", ""},
		{"nothing at all", "x*", ""},
		{"many lines, of which each is one", "(?m)^done$", ""},
		{"a dot that takes newlines too", "(?s)alpha.beta", ""},
		{"spaces of any kind", `alpha\s+beta`, ""},
		{"an end of either kind", `done(\n|$)`, ""},
		{"a newline that may be missing", `done\n?`, ""},
		{"one alternative of two", `done\n|ready`, ""},
		{"words", `\bdone\b`, ""},
		{"within a word", `x\By`, ""},
		{"no word between", `-\B-`, ""},
		{"what folds to the kelvin", `(?i)\bK\Bx`, ""},
		{"beyond ASCII", `^é\b`, ""}, // é is no word character, and one may follow
		{"beyond ASCII before a word", `é\bx`, ""},
		{"a carriage return", `done\r`, ""},
		{"a backslash and an n", `a\\nb`, ""},
		{"the beginning of the output", `\Adone\z`, ""},

		{"two lines", `alpha\nbeta`, "output is searched line by line, so no newline is found"},
		{"two lines, written as they are", "alpha\nbeta", "line by line"},
		{"a newline at the end", `done\n`, "line by line"},
		{"newlines alone", `\n+`, "line by line"},
		{"a class of newlines", `a[\n]b`, "line by line"},
		{"two lines by their anchors", `(?m)a$\n^b`, "line by line"},
		{"all alternatives", `a\n|(b\n|c\nd)`, "line by line"},
		{"an end in the middle", `a$b`, "nothing before ^ or behind $"},
		{"a beginning in the middle", `a^b`, "nothing before ^ or behind $"},
		{"a price", `$[0-9]+`, `\$`},
		{"an edge within a word, which is not looked at", `a\bb`, ""},
		{"a class of nothing", `[^\s\S]`, "can never match"},

		{"ahead", `foo(?=bar)`, "RE2 has no look-around: write what stands before and behind"},
		{"behind", `(?<=foo)bar`, "RE2 has no look-around: write what stands before and behind"},
		{"not ahead", `foo(?!bar)`, "RE2 has no look-around, and cannot say what must not be there"},
		{"not behind", `(?<!foo)bar`, "RE2 has no look-around, and cannot say what must not be there"},
		{"a group of another kind", `(?>a+)b`, "RE2 has (?:…) and (?P<name>…)"},
		{"a backreference", `(a)\1`, "nor backreferences"},
		{"an escape", `done\Z`, "RE2 has no such escape"},
		{"possessive", `a++`, "RE2 has no possessive repetition"},
		{"a shell's star", `*.log`, `.* is any text`},
		{"a bracket", `[error`, "escape special characters with a backslash"},
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

// linesOf returns all lines of up to n letters.
func linesOf(letters string, n int) []string {
	all := []string{""}
	for i := 0; i < len(all); i++ {
		if len(all[i]) < n {
			for _, letter := range letters {
				all = append(all, all[i]+string(letter))
			}
		}
	}
	return all
}

// Patterns of a few parts, against all short lines: one that is refused matches
// none of them, and one that is not matches some.
func TestRandomPatterns(t *testing.T) {
	lines := linesOf("ab \r", 5)
	parts := []string{"a", " ", "a", `\n`, "^", "$", `[^a]`, `[\n ]`, "(?:a|^)", "(?:$| )", "(?m:^)", "(?m:$)", "a*", `\n*`, " ?", `\A`, `\z`, "|", `\r`}
	r := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for range 4000 {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		pattern := b.String()
		re := regexp.MustCompile(pattern)
		matches := false
		for _, line := range lines {
			if matches = re.MatchString(line); matches {
				break
			}
		}
		_, err := capture.NewMatcher(pattern)
		require.Equal(t, matches, err == nil, "%q: %v", pattern, err)
		if err != nil {
			require.ErrorContains(t, err, "can never match")
			refused++
		}
	}
	require.Greater(t, refused, 500)
}

// FuzzPattern holds that a pattern that is said to match nothing does not.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{`a\nb`, "a b"}, {`a\bb`, "ab"}, {`(?i)k\b`, "\u212A"}, {`[^\x00-\x7f]\b`, "é"}, {`\Bé\b`, "aé"}, {`(?m)^$^`, ""}, {"\n", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, line string) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Skip()
		}
		line = strings.ReplaceAll(line, "\n", "")
		if _, err := capture.NewMatcher(pattern); err != nil && strings.Contains(err.Error(), "can never match") {
			require.False(t, re.MatchString(line), "%q matches %q: %v", pattern, line, err)
		}
	})
}
