// Package wording writes values into the sentences of a result: durations and
// numbers, names and lines of output in quotes. It also counts and cuts by the
// bytes that a text takes in a result.
package wording

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Duration writes a duration as a person would: "4h", not "4h0m0s".
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Brief writes a duration as people do: 350ms, 12.3s, 2m5s, 3h20m, 4d2h.
func Brief(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return Duration(d.Round(time.Second))
	case d < 2*day:
		return Duration(d.Round(time.Minute))
	}
	d = d.Round(time.Hour)
	text := strconv.Itoa(int(d/day)) + "d"
	if rest := d % day; rest > 0 {
		text += strconv.Itoa(int(rest/time.Hour)) + "h"
	}
	return text
}

// Counted writes a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Grouped writes a number with a comma before each three digits.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Killed reports whether SIGKILL ended a process, by its signal and its exit code.
func Killed(signal string, exitCode *int) bool {
	return signal == "SIGKILL" || exitCode != nil && *exitCode == 128+9
}

// MaxWords is how much of an error a result quotes, in bytes of the result.
const MaxWords = 2000

// Odd returns a path or a name as it is if it could be nothing else. If it has a
// space, a quote or another character by which it could look like words of the
// sentence around it, Odd quotes it.
func Odd(text string) string {
	odd := func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune("\"'`();", r)
	}
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// Quote quotes a command or a line of output, at most most bytes of it. A
// quote, a line end or a control character in it is escaped, so that no text of a
// model or a program can look like words of ours, or like another line of a
// result.
func Quote(line string, most int) string {
	cost := 0
	for i, r := range line {
		if cost += Len(strconv.Quote(string(r))) - Len(`""`); cost > most {
			return strconv.Quote(line[:i] + "…")
		}
	}
	return strconv.Quote(line)
}

// Clip shortens s so that it takes at most n bytes in a result. It cuts between
// runes, and marks the cut with an ellipsis.
func Clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n/MaxCost || Len(s) <= n {
		return s
	}
	room := n - len("…")
	for i, r := range s {
		if room -= Len(string(r)); room < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// OneLine returns a text as valid UTF-8 without line ends and controls: each of
// them becomes an escape sequence, as Go writes it in a string.
func OneLine(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsFunc(text, breaks) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if breaks(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// breaks reports whether a rune could end a line, or move what follows.
func breaks(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r)
}

// Sentence ends words with a full stop if they have no end, so that another
// sentence can follow.
func Sentence(words string) string {
	if strings.HasSuffix(words, ".") || strings.HasSuffix(words, "?") || strings.HasSuffix(words, "!") {
		return words
	}
	return words + "."
}

// Encode returns a JSON value on one line. It does not escape < and &,
// because models read them better so, and the text is not for a web page.
func Encode(v any) string {
	var b strings.Builder // whose String is no copy
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // v has strings and numbers alone, and the Builder takes all
	return strings.TrimSuffix(b.String(), "\n")
}

// Sentences writes notes one after the other.
func Sentences(notes []string) string {
	var b strings.Builder
	for i, note := range notes {
		if i == len(notes)-1 {
			b.WriteString(note)
		} else {
			b.WriteString(Sentence(note) + " ")
		}
	}
	return b.String()
}

// List names the first of some names, at most so many, and counts the rest.
func List(names []string, most int) string {
	shown := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, Odd(name))
	}
	list := strings.Join(shown, ", ")
	if more := len(names) - most; more > 0 {
		list += " and " + strconv.Itoa(more) + " more"
	}
	return list
}

// MaxCost is the most bytes that one byte of a text takes in a result.
const MaxCost = len(`\u0000`)

// Len returns how many bytes a text takes in a result. In JSON a line
// end takes two bytes, and a NUL six.
func Len(text string) int { return len(Encode(text)) - len(`""`) }
