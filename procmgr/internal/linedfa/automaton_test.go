package linedfa_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/linedfa"
	"github.com/toolproc/toolproc/procmgr/internal/randre"
)

// compile returns the automaton of a pattern, and the expression itself. It
// returns nil if there is no such expression.
func compile(pattern string) (*linedfa.Automaton, *regexp.Regexp) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, nil
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, nil
	}
	return linedfa.New(prog), regexp.MustCompile(pattern)
}

// check compares automata of a pattern, one with little room, with the
// expression itself.
func check(t *testing.T, pattern string, lines ...[]byte) {
	a, re := compile(pattern)
	if a == nil {
		return
	}
	small, _ := compile(pattern)
	small.Limit(3)
	for _, line := range lines {
		want := re.Match(line)
		if got, ok := a.Match(line); ok {
			require.Equal(t, want, got, "%q in %q", pattern, line)
		}
		if got, ok := small.Match(line); ok {
			require.Equal(t, want, got, "%q in %q, with little room", pattern, line)
		}
	}
}

func TestMatch(t *testing.T) {
	lines := [][]byte{
		nil, []byte("a"), []byte("b\n"), []byte("\na"), []byte("error: no"), []byte("errors: none"), []byte("an error"),
		[]byte("Listening on http://localhost:8080"), []byte("L\u0130\u017ften"), []byte("\xff"), []byte("\u212a"), []byte("\ufffd"),
		[]byte("\xe2\x82"), []byte("a\xe2\x82\xac"), []byte("ok  \tpkg 0.1s"), []byte(strings.Repeat("ab", 3000)),
	}
	for _, pattern := range []string{
		"", "a", "^$", "^a", "a$", `\ba\b`, `\Ba`, "(?m)^a$", `\berror\b`, `(?i)\b(error|failed)\b`, `(?i)listening on .*:\d+`,
		`(?i)k`, `(?i)li.ten`, `\x{fffd}`, `[^a]`, `.`, `(?s).`, `\pL`, `[[:^ascii:]]`, `^(ok|FAIL)\s`, `(a|ab)(c|bcd)(d*)`, `(ab){500}`, `ab\b`, `or\B`, `a\z`, `err(or)?$`,
		`[a-z]{3,40}x`, `(a|b)*abb(a|b){9}$`, `\A\z`, `(^|x)a`, `(a|^)b`, `^\b`, `a\b`, `a*`, "^", "$", `\d`, `€$`,
	} {
		check(t, pattern, lines...)
	}
}

// What models write is answered. A class with hundreds of ranges is not.
func TestMatchAnswers(t *testing.T) {
	for _, pattern := range []string{"error", `\berror\b`, `(?i)listening on .*:\d+`, `^\s*✓ .* \d+ ms$`, `(?i)k`, `[^\w]`} {
		a, _ := compile(pattern)
		_, ok := a.Match([]byte("what is printed — in a line"))
		require.True(t, ok, pattern)
	}
	a, _ := compile(`\pL`)
	_, ok := a.Match(nil)
	require.False(t, ok)
}

// An automaton with very many states gives up, instead of finding them again and
// again.
func TestMatchGivesUp(t *testing.T) {
	a, re := compile(`[ab]*a[ab]{60}$`)
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		line := make([]byte, 200)
		for i := range line {
			line[i] = 'a' + byte(r.IntN(2))
		}
		got, ok := a.Match(line)
		if !ok {
			_, ok = a.Match(line)
			require.False(t, ok)
			return
		}
		require.Equal(t, re.Match(line), got)
	}
	t.Fatal("it goes on")
}

func FuzzMatch(f *testing.F) {
	f.Add(`(?i)listening on .*:\d+`, []byte("now\nLi\u017ftening on :80\nlistening on port:8"))
	f.Add(`\bk\B|^s$`, []byte("\xffk\n\u212a"))
	f.Add(`(?m)^a$`, []byte("b\na"))
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		if len(pattern) > 200 || len(text) > 4096 {
			return
		}
		check(t, pattern, append(bytes.Split(text, []byte{'\n'}), text)...)
	})
}

// Patterns and lines of few different characters match often.
func TestMatchOfRandomPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var lines [][]byte
		for range 5 {
			lines = append(lines, randre.Text(r, 12))
		}
		check(t, randre.Pattern(r, 3, `\n`), lines...)
	}
}

// Lines of a log, for patterns that match none of them, beside package regexp.
func BenchmarkMatch(b *testing.B) {
	line := []byte("2026-11-21T12:00:00.123Z INFO  request GET /api/users/7 HTTP/1.1 200 12ms errors=0")
	for _, pattern := range []string{`\berror\b`, `(?i)\b(error|failed|exception)\b`, `(?i)listening on .*:\d+`, `^\d+$`, `took \d+ms`, `.*: error: .*`} {
		a, re := compile(pattern)
		for name, match := range map[string]func() bool{
			"regexp":    func() bool { return re.Match(line) },
			"automaton": func() bool { matches, ok := a.Match(line); return matches || !ok },
		} {
			b.Run(fmt.Sprint(pattern, "/", name), func(b *testing.B) {
				b.SetBytes(int64(len(line)))
				for b.Loop() {
					if match() {
						b.Fatal("it matches")
					}
				}
			})
		}
	}
}
