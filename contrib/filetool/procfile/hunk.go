package procfile

import (
	"slices"
	"strings"

	"github.com/toolproc/toolproc/contrib/filetool/internal/pairs"
)

// around is how many lines a hunk has before and behind those that have changed.
const around = 2

// show adds the hunks of a file that was edited. They take at most room bytes, and
// room is what is left then.
func (f *EditedFile) show(before, after string, set secrets, room *int) {
	for _, c := range changes(before, after) {
		f.hunk(after, c, set, room)
	}
}

func (f *EditedFile) hunk(after string, c span, set secrets, room *int) {
	w := &window{from: int64(c.from) + 1, limit: c.to - c.from, set: set, at: 1}
	if w.limit == 0 {
		return
	}
	if !w.take([]byte(after)) {
		w.full = true
	}
	lines, redacted, _ := w.lines()
	shown := 0
	for i, line := range lines {
		if *room -= len(line.Text) + cost(w.from+int64(i)); *room < 0 {
			break
		}
		shown++
	}
	f.Omitted += w.limit - shown
	if shown > 0 {
		f.Hunks = append(f.Hunks, Hunk{From: w.from, Lines: lines[:shown]})
	}
	for _, name := range redacted {
		if !slices.Contains(f.Redacted, name) {
			f.Redacted = append(f.Redacted, name)
		}
	}
}

// A span is some lines, from 0 on.
type span struct{ from, to int }

// changes returns the lines of a text that differ from those before, and two around
// them. Spans that touch are one. If lines have gone, those around their place count.
func changes(before, after string) (all []span) {
	a, b := wholeLines(before), wholeLines(after)
	add := func(from, to int) {
		from, to = max(from-around, 0), min(to+around, len(b))
		if n := len(all); n > 0 && from <= all[n-1].to {
			all[n-1].to = max(all[n-1].to, to)
			return
		}
		if to > from {
			all = append(all, span{from, to})
		}
	}
	nextA, nextB := 0, 0 // the lines that would follow
	differ := func(a, b int) {
		if a > nextA || b > nextB {
			add(nextB, b)
		}
		nextA, nextB = a+1, b+1
	}
	for _, pair := range pairs.Of(a, b) {
		differ(pair[0], pair[1])
	}
	differ(len(a), len(b))
	return all
}

// wholeLines returns the lines of a text with their ends.
func wholeLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
