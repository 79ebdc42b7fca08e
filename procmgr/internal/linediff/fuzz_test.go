package linediff_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/linediff"
)

// find compares without a limit and with time enough.
func find(t testing.TB, before, after string) linediff.Changes {
	t.Helper()
	c, ok := linediff.Find(before, after, headtail.Limits{Bytes: -1, Line: -1}, time.Now().Add(time.Minute))
	require.True(t, ok)
	return c
}

// The patterns of what is taken as equal, once more and in another way. A group
// that is not masked stays.
var (
	datePart   = `\d{4}([-/])(?:0[1-9]|1[0-2])([-/])(?:0[1-9]|[12]\d|3[01])`
	syslogPart = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (?: [1-9]|[12]\d|3[01])`

	beginsDate = regexp.MustCompile(`(?s)^([\[(]?)(?:` + datePart + `(?:([ T_])(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:([.,])\d+)?)?|(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:([.,])\d+)?|(` + syslogPart + ` (?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:([.,])\d+)?))(Z|[+-]\d*(?::\d*)?)?(.*)$`)
)

// oracle returns the form of a line, by patterns. Lines of one form are the same.
func oracle(line string) string {
	body, end := line, ""
	if strings.HasSuffix(body, "\n") {
		body, end = body[:len(body)-1], "\n"
	}
	if strings.HasSuffix(body, "\r") {
		body, end = body[:len(body)-1], "\r"+end
	}
	form := ""
	if m := beginsDate.FindStringSubmatch(body); m != nil {
		head := body[:len(body)-len(m[10])-len(m[9])]
		zone, rest := m[9], m[10]
		if !strings.Contains(head, ":") {
			zone, rest = "", m[9]+m[10]
		}
		closes := map[string]string{"[": "]", "(": ")"}[m[1]]
		fits := closes == "" && regexp.MustCompile(`(?s)^(?:[ \t].*[^ \t]|: .)`).MatchString(rest) ||
			closes != "" && (strings.HasPrefix(rest, closes) && len(rest) > 1 || strings.HasPrefix(rest, " ") && strings.Contains(rest, closes))
		if fits {
			shape := regexp.MustCompile(`([.,])\d+$`).ReplaceAllString(head, "${1}F")
			if m[7] != "" {
				shape = regexp.MustCompile(`^([\[(]?)\w{3} [ \d]\d`).ReplaceAllString(shape, "${1}M")
			}
			form = "\x01" + regexp.MustCompile(`\d`).ReplaceAllString(shape, "0") + "\x01" + zone
			return form + "\x03" + rest + end
		}
	}
	if masked, ok := oracleTail(body); ok {
		return "\x02" + masked + end
	}
	return "\x03" + body + end
}

var hexForms = []*regexp.Regexp{
	regexp.MustCompile(`(?s)^([ \t]*#\d+ +)0x[0-9a-fA-F]+( in .*)$`),
	regexp.MustCompile(`(?s)^([ \t]+\d+: +)0x[0-9a-fA-F]+( - .*)$`),
	regexp.MustCompile(`(?s)^(\t.+:\d+ )\+0x[0-9a-fA-F]+()$`),
	regexp.MustCompile(`(?s)^(\[signal .* pc=)0x[0-9a-fA-F]+(\])$`),
	regexp.MustCompile(`(?s)^((?:Current t|T)hread )0x[0-9a-fA-F]+( \(most recent call first\).*)$`),
}

var durationForms = []*regexp.Regexp{
	regexp.MustCompile(`(?s)^([ \t]*(?:--- (?:PASS|FAIL|SKIP): |PASS |FAIL |PASSED |FAILED |SKIPPED |\((?:pass|fail|skip)\) |test |ok |not ok |\[       OK \] |\[  (?:FAILED|PASSED)  \] |\[  SKIPPED \] |\[[-]{10}\] |\[={10}\] |[✓✔√✗✘✕✖×▶] |\d+ (?:passing|failing|passed|failed) )(?:.* )?\()(?:\d+\.\d+( ?)s|\d+(?:\.\d+)?( ?)ms)((?: total)?\)[ \t]*)$`),
	regexp.MustCompile(`(?s)^([ \t]*(?:--- (?:PASS|FAIL|SKIP): |PASS |FAIL |PASSED |FAILED |SKIPPED |\((?:pass|fail|skip)\) |test |ok |not ok |\[       OK \] |\[  (?:FAILED|PASSED)  \] |\[  SKIPPED \] |\[[-]{10}\] |\[={10}\] |[✓✔√✗✘✕✖×▶] |\d+ (?:passing|failing|passed|failed) )(?:.* )?\[)(?:\d+\.\d+( ?)s|\d+(?:\.\d+)?( ?)ms)(\][ \t]*)$`),
	regexp.MustCompile(`(?s)^(=.* in )(?:\d+\.\d+( ?)s|\d+(?:\.\d+)?( ?)ms)( =+[ \t]*)$`),
	regexp.MustCompile(`(?s)^(test result: .* in |Ran .* test.* in )(?:\d+\.\d+( ?)s|\d+(?:\.\d+)?( ?)ms)([ \t]*)$`),
	regexp.MustCompile(`(?s)^((?:ok[ \t]|FAIL\t)[ \t]*[^ \t]+[ \t]+)(?:\d+\.\d+()s|\d+\.\d+( )s)([ \t]*)$`),
	regexp.MustCompile(`(?s)^([ \t]*(?:ℹ duration_ms |# duration_ms |duration_ms: ))\d+(?:\.\d+)?()()([ \t]*)$`),
}

// oracleTail returns the form of a line without a date, if something in it is
// masked.
func oracleTail(rest string) (form string, ok bool) {
	for i, re := range hexForms {
		if m := re.FindStringSubmatch(rest); m != nil {
			return fmt.Sprintf("%d\x04%s\x04%s", i, m[1], m[2]), true
		}
	}
	if m := regexp.MustCompile(`(?s)^([A-Za-z_][^ \t]*)\(((?:0x[0-9a-fA-F]+|[{}, ._?])*)\)$`).FindStringSubmatch(rest); m != nil && strings.Contains(m[1], ".") {
		if p := regexp.MustCompile(`0x[0-9a-fA-F]{8,}`); p.MatchString(m[2]) {
			return "a\x04" + m[1] + "\x04" + p.ReplaceAllString(m[2], "\x04"), true
		}
	}
	for i, re := range durationForms {
		if m := re.FindStringSubmatch(rest); m != nil {
			unit := "s"
			if strings.HasSuffix(strings.TrimRight(strings.TrimSuffix(rest, m[4]), " "), "ms") {
				unit = "ms"
			}
			return fmt.Sprintf("d%d\x04%s\x04%q%q%s\x04%s", i, m[1], m[2], m[3], unit, m[4]), true
		}
	}
	return "", false
}

// linesOf returns the forms of the lines of an output.
func linesOf(text string) (forms []string) {
	for line := range strings.Lines(text) {
		forms = append(forms, oracle(line))
	}
	return forms
}

// common returns the length of the longest sequence that two have in common.
func common(a, b []string) int {
	best := make([]int, len(b)+1)
	for _, x := range a {
		last := 0
		for j, y := range b {
			was := best[j+1]
			if x == y {
				best[j+1] = last + 1
			} else {
				best[j+1] = max(best[j+1], best[j])
			}
			last = was
		}
	}
	return best[len(b)]
}

var hunkHeader = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$`)

// patch applies hunks to the lines of before. It fails if they do not fit.
func patch(t testing.TB, before, text string) (after []string) {
	t.Helper()
	var old []string
	for line := range strings.Lines(before) {
		old = append(old, line)
	}
	at := 0
	parts := strings.SplitAfter(text, "\n")
	for i := 0; i < len(parts); i++ {
		line := parts[i]
		if line == "" {
			continue
		}
		if i+1 < len(parts) && parts[i+1] == "\\ No newline at end of file\n" {
			line = strings.TrimSuffix(line, "\n")
		}
		switch line[0] {
		case '@':
			m := hunkHeader.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			require.NotNil(t, m, line)
			first, _ := strconv.Atoi(m[1])
			if m[2] == "0" {
				first++
			}
			for at < first-1 {
				after, at = append(after, old[at]), at+1
			}
			now, _ := strconv.Atoi(m[3])
			if m[4] == "0" {
				now++
			}
			require.Len(t, after, now-1, line)
		case ' ':
			require.Equal(t, oracle(old[at]), oracle(line[1:]))
			after, at = append(after, line[1:]), at+1
		case '-':
			require.Equal(t, old[at], line[1:])
			at++
		case '+':
			after = append(after, line[1:])
		case '\\':
		default:
			t.Fatalf("%q", line)
		}
	}
	return append(after, old[at:]...)
}

// check compares what Find says of two outputs with the oracle.
func check(t testing.TB, before, after string) {
	t.Helper()
	c := find(t, before, after)
	old, now := linesOf(before), linesOf(after)
	same := strings.Join(old, "\x05") == strings.Join(now, "\x05") && len(old) == len(now)
	require.Equal(t, same, c.Same, "%q and %q:\n%s", before, after, c.Text)
	require.Equal(t, len(now), c.Lines)
	if same {
		require.Zero(t, c.Added+c.Removed+len(c.Text))
		return
	}
	if strings.HasPrefix(c.Text, "(") {
		checkSet(t, old, now, c)
		return
	}
	n := common(old, now)
	require.Equal(t, []int{len(now) - n, len(old) - n}, []int{c.Added, c.Removed}, "%q and %q:\n%s", before, after, c.Text)
	if !utf8.ValidString(before) || !utf8.ValidString(after) {
		return // Text has U+FFFD
	}
	got := patch(t, before, c.Text)
	require.Equal(t, now, linesOf(strings.Join(got, "")), "%q and %q:\n%s", before, after, c.Text)
}

func checkSet(t testing.TB, old, now []string, c linediff.Changes) {
	t.Helper()
	spare := map[string]int{}
	for _, line := range now {
		spare[line]++
	}
	for _, line := range old {
		spare[line]--
	}
	added, removed := 0, 0
	for _, n := range spare {
		added += max(n, 0)
		removed += max(-n, 0)
	}
	require.Equal(t, []int{added, removed}, []int{c.Added, c.Removed})
	n := common(old, now)
	require.Greater(t, 2*(len(old)+len(now)-2*n), len(old)+len(now), "less than half differs in order")
	_, text, _ := strings.Cut(c.Text, "\n")
	plus, minus := 0, 0
	for line := range strings.Lines(text) {
		switch line[0] {
		case '+':
			plus++
		case '-':
			minus++
		case '\\':
		default:
			t.Fatalf("%q", line)
		}
	}
	require.Equal(t, []int{added, removed}, []int{plus, minus})
}

func FuzzFind(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\n")
	f.Add("--- PASS: TestA (0.12s)\nok  \ta\t0.512s\n", "--- PASS: TestA (0.13s)\nok  \ta\t0.511s\n")
	f.Add("03:04:05 a\n[2026-01-02 03:04:05] b\nJan  2 03:04:05 c\n", "13:04:05 a\n[2026-01-03 03:04:05] b\nJan 12 03:04:05 c\n")
	f.Add("#1 0x4f in main\n\t/a.go:1 +0x1d\nmain.f(0xc000012345)", "#1 0x5f in main\n\t/a.go:1 +0x1e\nmain.f(0xc000012346)\n")
	f.Add("a\r\nb\r\n", "a\nb\r\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before)+len(after) > 4000 {
			return
		}
		check(t, before, after)
		check(t, before, before)
	})
}

// words of which the lines of the random outputs are made: forms that are taken as
// equal, what is near them, and parts of both.
var words = []string{
	"a", "b", "}", "", " ", "\t", "\r", "\x00", "\x00D", "é", "\xff", "error: x", "3 passed", "4 passed", "812 ns/op",
	"03:04:05 a", "13:14:15 a", "[03:04:05] ", "[13:14:15] ", "2026-01-02 a", "2026-03-14 a", "2026-01-02T03:04:05.1Z a", "2026-01-02T03:04:06.22Z a", "Jan  2 03:04:05 a", "Mar 14 03:04:05 a", "12:30: a", "12:31: a",
	"--- PASS: T (0.12s)", "--- PASS: T (0.13s)", "ok pkg 0.512s", "ok pkg 0.513s", "✓ a [12 ms]", "✓ a [13 ms]", "✓ a (30s)", "(0.12s)", "= 1 in 0.12s =", "= 1 in 0.13s =", "real 0m5.1s", "real 0m5.2s",
	"#1 0x4f2a in main", "#1 0x4f2b in main", "\t/a.go:1 +0x1d", "\t/a.go:1 +0x1e", "main.f(0xc000012345)", "main.f(0xc000012346)", "main.f(0x1)", "main.f(0x2)", "pc=0x1", "0xc000012345",
}

func randomOutput(r *rand.Rand) []string {
	lines := make([]string, r.IntN(12))
	for i := range lines {
		for range 1 + r.IntN(2) {
			lines[i] += words[r.IntN(len(words))]
		}
		lines[i] += "\n"
	}
	return lines
}

// edited changes some lines, swaps two, or changes a byte.
func edited(r *rand.Rand, lines []string) string {
	lines = append([]string(nil), lines...)
	for range r.IntN(3) {
		if len(lines) == 0 {
			break
		}
		i, j := r.IntN(len(lines)), r.IntN(len(lines))
		switch r.IntN(5) {
		case 0:
			lines[i] = words[r.IntN(len(words))] + "\n"
		case 1:
			lines = append(lines[:i], lines[i+1:]...)
		case 2:
			lines[i], lines[j] = lines[j], lines[i]
		case 3:
			line := []byte(lines[i])
			line[r.IntN(len(line))] = "0123456789 ()[]:.sx\n"[r.IntN(20)]
			lines[i] = string(line)
		case 4:
			lines[i] += lines[j]
		}
	}
	text := strings.Join(lines, "")
	if r.IntN(4) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

func random(t *testing.T, pairs int) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	same := 0
	for range pairs {
		lines := randomOutput(r)
		before, after := strings.Join(lines, ""), edited(r, lines)
		check(t, before, after)
		if before != after && find(t, before, after).Same {
			same++
		}
	}
	require.NotZero(t, same, "no pair differs in what is taken as equal alone")
}

func TestRandom(t *testing.T) {
	t.Parallel()
	random(t, 3000)
}

func TestHeldRandom(t *testing.T) {
	testenv.Held(t)
	random(t, testenv.Rounds(10_000, 100_000))
}
