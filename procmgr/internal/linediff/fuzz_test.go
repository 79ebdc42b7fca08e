package linediff_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
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

// The starts of the two processes, if a test names no others.
var (
	first  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	second = time.Date(2026, 3, 14, 13, 14, 15, 0, time.UTC)
)

// find compares without a limit.
func find(t testing.TB, before, after string) linediff.Changes {
	t.Helper()
	return findAt(t, linediff.Output{Text: before, Start: first}, linediff.Output{Text: after, Start: second})
}

func findAt(t testing.TB, before, after linediff.Output) linediff.Changes {
	t.Helper()
	c, ok := linediff.Find(before, after, headtail.Limits{Bytes: -1, Line: -1})
	require.True(t, ok)
	return c
}

// The patterns of what is taken as equal, once more and in another way: what stands
// before a time, the time, and the rest of the line.
var (
	timePart   = `(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:[.,]\d+)?`
	datePart   = `(?:\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])|\d{4}/(?:0[1-9]|1[0-2])/(?:0[1-9]|[12]\d|3[01]))[ T_]`
	syslogPart = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (?: [1-9]|[12]\d|3[01]) `
	zonePart   = `(?:Z|[+-]\d*(?::\d*)?)?`

	beginsTime = regexp.MustCompile(`(?s)^(?:([\[(]?)((?:` + datePart + `|` + syslogPart + `)?` + timePart + `))(` + zonePart + `)(.*)$`)
)

const verdictPart = `(?:--- (?:PASS|FAIL|SKIP): |PASS |FAIL |PASSED |FAILED |SKIPPED |\((?:pass|fail|skip)\) |test |ok |not ok |\[       OK \] |\[  (?:FAILED|PASSED)  \] |\[  SKIPPED \] |\[[-]{10}\] |\[={10}\] |[✓✔√✗✘✕✖×▶] |\d+ (?:passing|failing|passed|failed) )`

const durationPart = `(\d+\.\d+(?: ?)s|\d+(?:\.\d+)?(?: ?)ms)`

var endsWithDuration = []*regexp.Regexp{
	regexp.MustCompile(`(?s)^([ \t]*` + verdictPart + `(?:.* )?\()` + durationPart + `((?: total)?\)[ \t]*)$`),
	regexp.MustCompile(`(?s)^([ \t]*` + verdictPart + `(?:.* )?\[)` + durationPart + `(\][ \t]*)$`),
	regexp.MustCompile(`(?s)^(=.* in )` + durationPart + `( =+[ \t]*)$`),
	regexp.MustCompile(`(?s)^(test result: .* in |Ran .* test.* in )` + durationPart + `([ \t]*)$`),
	regexp.MustCompile(`(?s)^((?:ok[ \t]|FAIL\t)[ \t]*[^ \t]+[ \t]+)(\d+\.\d+s)([ \t]*)$`),
	regexp.MustCompile(`(?s)^([ \t]*(?:ℹ duration_ms |# duration_ms |duration_ms: ))(\d+(?:\.\d+)?)([ \t]*)$`),
}

// parsed is a line without its time, and the time.
type parsed struct {
	form  string
	kind  string // date, clock, duration, or "" for none
	value float64
}

func parse(line string, year int) parsed {
	body, end := line, ""
	if strings.HasSuffix(body, "\n") {
		body, end = body[:len(body)-1], "\n"
	}
	if strings.HasSuffix(body, "\r") {
		body, end = body[:len(body)-1], "\r"+end
	}
	if m := beginsTime.FindStringSubmatch(body); m != nil {
		open, when, zone, rest := m[1], m[2], m[3], m[4]
		closes := map[string]string{"[": "]", "(": ")"}[open]
		fits := closes == "" && regexp.MustCompile(`(?s)^(?:[ \t].*[^ \t]|: .)`).MatchString(rest) ||
			closes != "" && (strings.HasPrefix(rest, closes) && len(rest) > 1 || strings.HasPrefix(rest, " ") && strings.Contains(rest, closes))
		if fits {
			kind, layout := "date", ""
			switch at := regexp.MustCompile(`\d\d:`).FindStringIndex(when)[0]; {
			case at == 0:
				kind, when, layout = "clock", "1970-01-01 "+when, "1970-01-01 15"
			case when[0] > '9':
				layout = when[at-1 : at]
				day, _ := strconv.Atoi(strings.TrimSpace(when[4:6]))
				month, _ := time.Parse("Jan", when[:3])
				when = fmt.Sprintf("%04d-%02d-%02d %s", year, month.Month(), day, when[at:])
				layout += "syslog"
			default:
				layout = when[4:5] + when[at-1:at]
				when = strings.ReplaceAll(when[:at-1], "/", "-") + " " + when[at:]
			}
			if i := strings.IndexAny(when, ".,"); i > 0 {
				layout += when[i : i+1]
				when = when[:i]
			}
			var y, mo, d, h, mi, s int
			_, _ = fmt.Sscanf(when, "%d-%d-%d %d:%d:%d", &y, &mo, &d, &h, &mi, &s)
			if y > 1700 && y < 2250 {
				return parsed{strings.Join([]string{open, layout, zone, rest, end}, "\x01"), kind, float64(time.Date(y, time.Month(mo), d, h, mi, s, 0, time.UTC).Unix())}
			}
		}
	}
	for i, re := range endsWithDuration {
		m := re.FindStringSubmatch(body)
		if m == nil {
			continue
		}
		number := strings.TrimRight(m[2], " ms")
		n, _ := strconv.ParseFloat(number, 64)
		if n > 1<<32 {
			continue
		}
		if i == 5 || strings.HasSuffix(m[2], "ms") {
			n /= 1000
		}
		return parsed{strings.Join([]string{m[1], m[2][len(number):], m[3], end}, "\x02"), "duration", n}
	}
	return parsed{form: line}
}

// oracle reports whether two lines are the same.
func oracle(a, b string) bool {
	if a == b {
		return true
	}
	x, y := parse(a, first.Year()), parse(b, second.Year())
	if x.form != y.form || x.kind != y.kind || x.kind == "" {
		return false
	}
	moved, apart := y.value-x.value, second.Sub(first).Seconds()
	switch x.kind {
	case "duration":
		moved = math.Abs(moved)
		const least = 1e-9 // of a float
		return moved < 1-least || 2*moved < min(x.value, y.value)-least
	case "clock":
		off := math.Mod(moved-apart+1000*86400, 86400)
		return min(off, 86400-off) <= 10
	}
	return math.Abs(moved-apart) <= 10
}

// linesOf returns the lines of an output, with their ends.
func linesOf(text string) []string { return slices.Collect(strings.Lines(text)) }

// common returns the length of the longest sequence that two have in common.
func common(a, b []string) int {
	best := make([]int, len(b)+1)
	for _, x := range a {
		last := 0
		for j, y := range b {
			was := best[j+1]
			if oracle(x, y) {
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
			require.True(t, oracle(old[at], line[1:]), "%q and %q", old[at], line[1:])
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
	same := slices.EqualFunc(old, now, oracle)
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
	require.Equal(t, len(now)-len(old), c.Added-c.Removed)
	require.GreaterOrEqual(t, c.Added, len(now)-n, "%q and %q:\n%s", before, after, c.Text)
	if !slices.ContainsFunc(append(old, now...), func(line string) bool { return parse(line, first.Year()).kind != "" }) {
		require.Equal(t, len(now)-n, c.Added, "%q and %q:\n%s", before, after, c.Text)
	}
	if !utf8.ValidString(before) || !utf8.ValidString(after) {
		return // Text has U+FFFD
	}
	got := linesOf(strings.Join(patch(t, before, c.Text), ""))
	require.True(t, slices.EqualFunc(got, now, func(a, b string) bool { return a == b || oracle(a, b) }), "%q and %q:\n%s", before, after, c.Text)
}

// checkSet looks whether each line that is not shown has a partner.
func checkSet(t testing.TB, old, now []string, c linediff.Changes) {
	t.Helper()
	_, text, _ := strings.Cut(c.Text, "\n")
	rest := map[byte][]string{'-': old, '+': now}
	for sign, all := range rest {
		rest[sign] = slices.Clone(all)
	}
	parts := strings.SplitAfter(text, "\n")
	for i, line := range parts {
		if line == "" || line[0] == '\\' {
			continue
		}
		if i+1 < len(parts) && strings.HasPrefix(parts[i+1], "\\") {
			line = strings.TrimSuffix(line, "\n")
		}
		all := rest[line[0]]
		at := slices.Index(all, line[1:])
		if at < 0 && strings.Contains(line, "\uFFFD") {
			return
		}
		require.GreaterOrEqual(t, at, 0, "%q", line)
		rest[line[0]] = slices.Delete(all, at, at+1)
	}
	require.Equal(t, []int{c.Added, c.Removed}, []int{len(now) - len(rest['+']), len(old) - len(rest['-'])})
	require.Len(t, rest['-'], len(rest['+']))
	forms := func(lines []string) (forms []string) {
		for _, line := range lines {
			forms = append(forms, parse(line, 2026).form)
		}
		slices.Sort(forms)
		return forms
	}
	require.Equal(t, forms(rest['-']), forms(rest['+']))
}

func FuzzFind(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\n")
	f.Add("--- PASS: TestA (0.12s)\nok  \ta\t0.512s\n", "--- PASS: TestA (0.13s)\nok  \ta\t0.511s\n")
	f.Add("03:04:05 a\n[2026-01-02 03:04:05] b\nJan  2 03:04:05 c\n", "13:04:05 a\n[2026-01-03 03:04:05] b\nJan 12 03:04:05 c\n")
	f.Add("a\r\nb\r\n", "a\nb\r\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before)+len(after) > 4000 {
			return
		}
		check(t, before, after)
		check(t, before, before)
	})
}

// words are the parts of the random lines: forms that count as equal, near misses of
// them, and parts of both.
var words = []string{
	"a", "b", "}", "", " ", "\t", "\r", "\x00", "\x00D", "é", "\xff", "error: x", "3 passed", "4 passed", "812 ns/op",
	"03:04:05 a", "13:14:15 a", "13:14:05 a", "13:14:04 a", "[03:04:05] ", "[13:14:15] ", "2026-01-02 a", "2026-03-14 a", "2026-01-02T03:04:05.1Z a", "2026-03-14T13:14:15.22Z a", "2026-01-02T03:04:06.22Z a", "Jan  2 03:04:05 a", "Mar 14 13:04:05 a", "Mar 14 13:14:20 a", "12:30: a", "12:31: a",
	"--- PASS: T (0.12s)", "--- PASS: T (0.13s)", "--- PASS: T (1.13s)", "--- PASS: T (1.50s)", "ok pkg 0.512s", "ok pkg 0.513s", "✓ a [12 ms]", "✓ a [13 ms]", "✓ a (30s)", "(0.12s)", "= 1 in 0.12s =", "= 1 in 0.13s =", "real 0m5.1s", "real 0m5.2s",
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

// edited changes some lines, their durations or a byte, or swaps two.
func edited(r *rand.Rand, lines []string) string {
	lines = append([]string(nil), lines...)
	for range r.IntN(3) {
		if len(lines) == 0 {
			break
		}
		i, j := r.IntN(len(lines)), r.IntN(len(lines))
		switch r.IntN(6) {
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
		case 5: // as another run prints it
			lines[i] = strings.NewReplacer("0.12s", "0.13s", "0.512s", "0.513s", "[12 ms]", "[13 ms]", "5.1s", "5.2s").Replace(lines[i])
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

// Texts of few kinds of lines have many longest common sequences.
func TestRandomOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		kinds := 1 + r.IntN(8)
		text := func() (text string) {
			for range r.IntN(20) {
				text += string(rune('a'+r.IntN(kinds))) + "\n"
			}
			return text
		}
		check(t, text(), text())
	}
}

func TestHeldRandom(t *testing.T) {
	testenv.Held(t)
	random(t, testenv.Rounds(10_000, 100_000))
}
