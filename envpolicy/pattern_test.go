package envpolicy_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{"", []string{""}, []string{"A"}},
		{"*", []string{"", "A", "A_B", "\xff", "a\nb"}, nil},
		{"**", []string{"", "A"}, nil},
		{"?", []string{"A", "é", "\xff", "\n"}, []string{"", "AB"}},
		{"?*", []string{"A", "AB"}, []string{""}},
		{"PATH", []string{"PATH", "path", "Path"}, []string{"", "PAT", "PATHS", "XPATH"}},
		{"LC_*", []string{"LC_", "LC_ALL", "lc_all"}, []string{"LC", "XLC_ALL"}},
		{"*_KEY", []string{"_KEY", "A_KEY", "A_KEY_KEY", "A_KEY_B_KEY"}, []string{"KEY", "A_KEYS"}},
		{"A*B*C", []string{"ABC", "AxBxC", "ABBCC", "aCbCc"}, []string{"AB", "ACB", "ABCD"}},
		{"A??", []string{"ABC"}, []string{"AB", "ABCD"}},
		{"*A?", []string{"AB", "AAB", "AAA"}, []string{"A", "ABC"}},
		{"A.B+(C)[D]", []string{"a.b+(c)[d]"}, []string{"AxB+(C)[D]", "A.BB+(C)[D]"}},
		{"@", []string{"@"}, []string{"`"}}, // these differ by the bit that makes letters lower case
		{"[", []string{"["}, []string{"{"}},
		{"\\*", []string{"\\x", "\\"}, []string{"*"}},
		{"SCHLÜSSEL", []string{"schlüssel"}, []string{"schlussel"}},
		{"K", []string{"k", "\u212a"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.pattern, func(t *testing.T) {
			for _, name := range tt.yes {
				require.True(t, envpolicy.Match(tt.pattern, name), "%q", name)
			}
			for _, name := range tt.no {
				require.False(t, envpolicy.Match(tt.pattern, name), "%q", name)
			}
		})
	}
}

// A matcher that tries every * again would take longer than the age of the
// universe. This one takes milliseconds. The limit leaves room for slow
// machines.
func TestMatchDoesNotBacktrack(t *testing.T) {
	start := time.Now()
	require.False(t, envpolicy.Match(strings.Repeat("*a", 100)+"*b*", strings.Repeat("a", 10_000)))
	require.False(t, envpolicy.Match(strings.Repeat("*?", 100)+"b?", strings.Repeat("a", 10_000)))
	require.Less(t, time.Since(start), 5*time.Second)
}

// matchOracle translates the pattern to a regular expression.
func matchOracle(pattern, name string) bool {
	var b strings.Builder
	b.WriteString(`(?is)^`)
	for _, r := range pattern {
		switch r {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile(b.String() + `$`).MatchString(name)
}

func FuzzMatch(f *testing.F) {
	f.Add("*_KEY", "API_KEY")
	f.Add("A*B?C**", "aXbYcZ")
	f.Add("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaab")
	f.Add("ÄK?ſ", "äK\u212aS")
	f.Add("?", "\xff")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if !utf8.ValidString(pattern) || len(pattern) > 200 || len(name) > 1000 {
			return // package regexp has no such expressions, or is too slow for them
		}
		require.Equal(t, matchOracle(pattern, name), envpolicy.Match(pattern, name), "%q, %q", pattern, name)
	})
}
