package edits

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// mostLike is how many lines are compared with one that is nowhere.
	mostLike = 200_000
	// mostTelling is how many lines of a search tell where it was meant.
	mostTelling = 50
	// mostQuoted is how much an error quotes of a line, in bytes.
	mostQuoted = 160
	// mostShown is how many lines an error quotes.
	mostShown = 3
)

// numbered matches a line that was copied with its number.
var numbered = regexp.MustCompile(`^\s*\d+\t`)

// differs says why a search is not in the text: which lines are nearest to it, and
// what differs. Quotes show a tab as \t.
func (t text) differs(search string, mask func(line string) string) string {
	text, ended := strings.CutSuffix(search, "\n")
	lines := strings.Split(text, "\n")
	if !slices.ContainsFunc(lines, func(line string) bool { return !numbered.MatchString(line) }) {
		return "search is not there; it has line numbers: leave them and the tab behind them out"
	}
	at, ok := t.meant(lines)
	if !ok {
		return "search is not there, and no line is like one of its lines; read the file again"
	}
	var b strings.Builder
	b.WriteString("search is not there; ")
	shown := 0
	for k, line := range lines {
		i := at + k
		switch {
		case i < 0, i >= t.count(), line == t.text(i):
			continue
		case k == 0 && strings.HasSuffix(t.text(i), line), k == len(lines)-1 && !ended && strings.HasPrefix(t.text(i), line):
			continue // a part of a line
		case shown == mostShown:
			fmt.Fprintf(&b, ", and further lines differ")
			return b.String()
		case shown > 0:
			b.WriteString("; ")
		}
		shown++
		fmt.Fprintf(&b, "line %d has %s where search has %s", i+1, quote(mask(t.text(i))), quote(line))
		if how := spaced(line, t.text(i)); how != "" {
			b.WriteString(how)
		}
	}
	if shown > 0 {
		return b.String()
	}
	if at < 0 {
		return fmt.Sprintf("search is not there; its line %d is line 1 of the file, and nothing is before that", 1-at)
	}
	return fmt.Sprintf("search is not there; from line %d on it is, to line %d, where the file ends", at+1, t.count())
}

// spaced says if two lines differ in white space alone, and otherwise nothing.
func spaced(a, b string) string {
	if strings.Join(strings.Fields(a), "") != strings.Join(strings.Fields(b), "") {
		return ""
	}
	return " (only tabs and spaces differ)"
}

// quote quotes a line; a long one is cut.
func quote(line string) string {
	if len(line) > mostQuoted {
		line = strings.ToValidUTF8(line[:mostQuoted], "") + "…"
	}
	return strconv.Quote(line)
}

// meant returns the line at which a search was most likely meant to be: a line there is like
// its longest one, and more of its other lines are there than elsewhere. It may be before the
// first line.
func (t text) meant(lines []string) (at int, ok bool) {
	lines = lines[:min(len(lines), mostTelling)]
	longest, k := "", 0
	for i, line := range lines {
		if line = squeezed(line); len(line) > len(longest) {
			longest, k = line, i
		}
	}
	most := 0.0
	for i := range min(t.count(), mostLike) {
		n := like(longest, squeezed(t.text(i)))
		if n <= 0.5 {
			continue
		}
		n *= float64(len(longest))
		for j, line := range lines {
			line = strings.TrimSpace(line)
			if there := i - k + j; j != k && there >= 0 && there < t.count() && line == strings.TrimSpace(t.text(there)) {
				n += float64(len(line))
			}
		}
		if n > most {
			at, most, ok = i-k, n, true
		}
	}
	return at, ok
}

func squeezed(line string) string { return strings.Join(strings.Fields(line), " ") }

// like returns how much of two texts is the same at their beginnings and ends, from 0
// to 1.
func like(a, b string) float64 {
	short, long := min(len(a), len(b)), max(len(a), len(b))
	if long == 0 || short*2 < long {
		return 0
	}
	n, m := 0, 0
	for n < short && a[n] == b[n] {
		n++
	}
	for m < short-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return float64(n+m) / float64(long)
}
