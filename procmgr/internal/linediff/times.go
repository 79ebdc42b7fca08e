package linediff

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// minSlack is how far apart two dates may be, beyond the distance of the two starts,
// and still be equal.
const minSlack = 10 * time.Second

// A kind says what a time is.
type kind byte

const (
	noTime   kind = iota
	dated         // a date and a time of day
	clock         // a time of day
	duration      // of a test
)

// A stamp is the time in a line, from one offset to another. A line has one at most.
type stamp struct {
	kind     kind
	from, to int
	value    time.Duration // since 1970 as if it was UTC, since midnight, or how long
}

// comparison says which times are equal.
type comparison struct {
	known bool          // when both processes have started
	apart time.Duration // from the first start to the second one
	slack time.Duration
	years [2]int // of the starts
}

func compareTimes(before, after Output) comparison {
	// The clock of the wall is printed, so its steps count, unlike in a monotonic one.
	first, second := before.Start.Round(0), after.Start.Round(0)
	return comparison{
		known: !first.IsZero() && !second.IsZero(),
		apart: second.Sub(first),
		slack: max(minSlack, before.Took, after.Took),
		years: [2]int{first.Year(), second.Year()},
	}
}

// sameTime reports whether two stamps of one kind are equal.
func (c comparison) sameTime(a, b stamp) bool {
	moved := b.value - a.value
	switch a.kind {
	case duration:
		moved = moved.Abs()
		return moved < time.Second || 2*moved < min(a.value, b.value)
	case clock:
		const day = 24 * time.Hour
		moved = (moved - c.apart) % day
		if moved = moved.Abs(); moved > day/2 {
			moved = day - moved
		}
	default:
		moved = (moved - c.apart).Abs()
	}
	return c.known && moved <= c.slack
}

// sameLine reports whether two lines are the same but for a time that is equal.
func (c comparison) sameLine(a, b string) bool {
	if a == b {
		return true
	}
	s, t := findStamp(a, c.years[0]), findStamp(b, c.years[1])
	return s.kind != noTime && form(a, s) == form(b, t) && c.sameTime(s, t)
}

// form returns what two lines have in common if they are the same but for their times:
// the rest of the line, and how the time is written.
func form(line string, s stamp) string {
	if s.kind == noTime {
		return line
	}
	written := "\x00" + strconv.Itoa(int(s.kind))
	if s.kind != duration {
		written += shape(line[s.from:s.to])
	}
	return written + "\x00" + line[:s.from] + "\x00" + line[s.to:]
}

// shape returns how a date or a time of day is written: 0 for each digit. A fraction is
// one digit, however many it has, and so are the month and the day of a syslog.
func shape(text string) string {
	if text[0] >= 'A' {
		text = "M" + text[len("Jan  2"):]
	}
	if i := strings.IndexAny(text, ".,"); i >= 0 {
		text = text[:i+2]
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, text)
}

// findStamp finds the time in a line. year is the year of the process: a syslog has
// none.
func findStamp(line string, year int) stamp {
	text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if text == "" {
		return stamp{}
	}
	if s := beginning(text, year); s.kind != noTime {
		return s
	}
	return testTime(strings.TrimRight(text, " \t"))
}

// A date and a time of day, or the latter. Less than a second says nothing beside the
// slack.
var dateAndTime = regexp.MustCompile(`^[\[(]?((?:(\d{4})(?:-(\d\d)-|/(\d\d)/)(\d\d)[ T_]|(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) ([ 1-9]\d) )?` +
	`([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:[.,]\d+)?)(?:Z|[+-]\d*(?::\d+)?)?`)

// beginning returns the date and the time of day with which a line begins, in brackets
// or not, if more follows than a zone, which is compared.
func beginning(line string, year int) stamp {
	at := dateAndTime.FindStringSubmatchIndex(line)
	if at == nil {
		return stamp{}
	}
	group := func(n int) string { return line[max(at[2*n], 0):max(at[2*n+1], 0)] }
	number := func(n int) int {
		i, _ := strconv.Atoi(strings.TrimSpace(group(n)))
		return i
	}
	s := stamp{kind: clock, from: at[2], to: at[3]}
	s.value = time.Duration(number(8))*time.Hour + time.Duration(number(9))*time.Minute + time.Duration(number(10))*time.Second
	month, day := number(3)+number(4), number(5)
	if group(2) != "" {
		year = number(2)
	} else if group(6) != "" {
		month, day = 1+strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", group(6))/3, number(7)
	}
	if group(2)+group(6) != "" {
		if year <= 1700 || year >= 2250 || month < 1 || month > 12 || day < 1 || day > 31 {
			return stamp{}
		}
		s.kind = dated
		s.value += time.Duration(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix()) * time.Second
	}
	closing := map[byte]string{'[': "]", '(': ")"}[line[0]]
	rest := line[at[1]:]
	switch {
	case closing != "" && strings.HasPrefix(rest, closing) && len(rest) > 1:
	case closing != "" && strings.HasPrefix(rest, " ") && strings.Contains(rest, closing):
	case closing == "" && strings.TrimLeft(rest, " \t") != "" && strings.IndexByte(" \t", rest[0]) >= 0:
	case closing == "" && strings.HasPrefix(rest, ": ") && len(rest) > 2:
	default:
		return stamp{}
	}
	return s
}

// testLine finds the duration with which the line of a test runner ends. A number of
// seconds has a fraction, since a test may be named after a timeout of 30s.
var testLine = func() *regexp.Regexp {
	const (
		spent   = `(\d+(?:\.\d+)? ?ms|\d+\.\d+ ?s)`
		verdict = `(?:--- (?:PASS|FAIL|SKIP):` + // go test
			`|PASS|FAIL|PASSED|FAILED|SKIPPED|\((?:pass|fail|skip)\)|test|ok|not ok|[✓✔√✗✘✕✖×▶]` +
			`|\[(?: {7}OK |  FAILED  |  PASSED  |  SKIPPED |-{10}|={10})\]` + // googletest
			`|\d+ (?:passing|failing|passed|failed))`
	)
	return regexp.MustCompile(strings.Join([]string{
		`^[ \t]*` + verdict + `(?: .*)? \(` + spent + `(?: total)?\)$`,
		`^[ \t]*` + verdict + `(?: .*)? \[` + spent + `\]$`,
		`^(?:ok[ \t]|FAIL\t)[ \t]*[^ \t]+[ \t]+(\d+\.\d+s)$`, // ok  pkg  0.512s
		`^=.* in ` + spent + ` =+$`,                          // === 3 passed in 0.12s ===
		`^(?:test result: |Ran .* test).* in ` + spent + `$`, // Rust, unittest
		`^[ \t]*(?:[ℹ#] duration_ms |duration_ms: )(\d+(?:\.\d+)?)$`,
	}, "|"))
}()

// maxSpent is more than a test takes, in any unit.
const maxSpent = 1 << 32

// testTime returns the duration with which the line of a test runner ends.
func testTime(line string) stamp {
	if line == "" || strings.IndexByte(")]=s0123456789", line[len(line)-1]) < 0 {
		return stamp{}
	}
	at := testLine.FindStringSubmatchIndex(line)
	for i := 2; i < len(at); i += 2 {
		if at[i] < 0 {
			continue
		}
		number, in := line[at[i]:at[i+1]], time.Millisecond
		if strings.HasSuffix(number, "s") && !strings.HasSuffix(number, "ms") {
			in = time.Second
		}
		number = strings.TrimRight(number, " ms")
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || n > maxSpent {
			return stamp{}
		}
		return stamp{duration, at[i], at[i] + len(number), time.Duration(n * float64(in))}
	}
	return stamp{}
}
