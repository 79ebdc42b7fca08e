package linediff

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
)

// A block is a change: the lines of before and of after from the first index up
// to, but without, the second.
type block struct{ a0, a1, b0, b1 int }

// blocks returns the changes between the pairs.
func (f *finder) blocks() (all []block) {
	a, b := 0, 0
	gap := func(toA, toB int) {
		if a < toA || b < toB {
			all = append(all, block{a, toA, b, toB})
		}
	}
	for _, p := range f.Pairs {
		gap(int(p[0]), int(p[1]))
		a, b = int(p[0])+1, int(p[1])+1
	}
	gap(len(f.before), len(f.after))
	return all
}

// hunks writes the changes with the lines around them.
func (f *finder) hunks(w *writer) {
	all := f.blocks()
	for begin := 0; begin < len(all); {
		end := begin + 1
		for end < len(all) && all[end].a0-all[end-1].a1 <= 2*context {
			end++
		}
		if !f.hunk(w, all[begin:end]) {
			for _, b := range all[end:] {
				w.left += b.a1 - b.a0 + b.b1 - b.b0
			}
			return
		}
		begin = end
	}
}

// hunk writes changes that stand close together. It reports whether they fit; if
// they do not, it counts those that are left out.
func (f *finder) hunk(w *writer, all []block) bool {
	first, last := all[0], all[len(all)-1]
	lead := min(context, first.a0)
	tail := min(context, len(f.before)-last.a1)
	a0, b0 := first.a0-lead, first.b0-lead
	fits := w.put(fmt.Sprintf("@@ -%s +%s @@\n", f.span(a0, last.a1+tail), f.span(b0, last.b1+tail)))
	// What is the same is shown as it is now.
	for i := range lead {
		fits = fits && w.line(' ', f.after[b0+i], 0)
	}
	for i, b := range all {
		if i > 0 {
			for j := all[i-1].b1; j < b.b0; j++ {
				fits = fits && w.line(' ', f.after[j], 0)
			}
		}
		for j, line := range f.before[b.a0:b.a1] {
			if fits = fits && w.line('-', line, apartAt(line, f.after[b.b0:b.b1], j)); !fits {
				w.left++
			}
		}
		for j, line := range f.after[b.b0:b.b1] {
			if fits = fits && w.line('+', line, apartAt(line, f.before[b.a0:b.a1], j)); !fits {
				w.left++
			}
		}
	}
	for i := range tail {
		fits = fits && w.line(' ', f.after[last.b1+i], 0)
	}
	return fits
}

// span writes a range of lines as the header of a hunk does.
func (f *finder) span(from, to int) string {
	n, at := to-from, f.first+from
	switch n {
	case 0:
		return strconv.Itoa(at-1) + ",0" // the line before it
	case 1:
		return strconv.Itoa(at)
	}
	return strconv.Itoa(at) + "," + strconv.Itoa(n)
}

// apartAt returns where a line begins to differ from the one at the same place in
// its change.
func apartAt(line string, others []string, i int) int {
	if i >= len(others) {
		return 0
	}
	return commonPrefix(line, others[i])
}

// set writes the lines that only one of the outputs has.
func (f *finder) set(w *writer) {
	fits := w.put("(The order of the lines differs. They are compared as a set: only lines that are more or fewer than before follow.)\n")
	only := func(sign byte, lines []string, ids, have, other []int32) {
		spare := make([]int32, len(other))
		for id := range spare {
			spare[id] = min(have[id], other[id])
		}
		for i, line := range lines {
			if spare[ids[i]]--; spare[ids[i]] >= 0 {
				continue
			}
			if fits = fits && w.line(sign, line, 0); !fits {
				w.left++
			}
		}
	}
	only('-', f.before, f.idsA, f.inA, f.inB)
	only('+', f.after, f.idsB, f.inB, f.inA)
}

// A writer writes the text of changes within a limit.
type writer struct {
	b          strings.Builder
	room, most int // bytes that the text may still take, and that one line may
	left       int // how many lines that differ were left out
}

// leftRoom is more than the line takes that says what was left out.
const leftRoom = 64

// minLine is the shortest length that a line is cut to, as in package headtail.
const minLine = 64

func newWriter(limit headtail.Limits) *writer {
	w := &writer{room: limit.Bytes, most: limit.Line}
	switch {
	case limit.Bytes == 0:
		w.room = headtail.DefaultTextLimit
	case limit.Bytes < 0:
		w.room = math.MaxInt
	}
	w.room = max(w.room-leftRoom, 0)
	switch {
	case limit.Line == 0:
		w.most = headtail.DefaultLineLimit
	case limit.Line < 0:
		w.most = math.MaxInt
	}
	w.most = max(w.most, minLine)
	return w
}

// put writes a text if it fits.
func (w *writer) put(text string) bool {
	if len(text) > w.room {
		w.room = 0 // what follows does not fit either
		return false
	}
	w.room -= len(text)
	w.b.WriteString(text)
	return true
}

// line writes a line of an output as valid UTF-8. If it is too long, the part
// around an offset stays.
func (w *writer) line(sign byte, line string, at int) bool {
	text, ended := strings.CutSuffix(line, "\n")
	end := "\n"
	if !ended {
		end = "\n\\ No newline at end of file\n"
	}
	return w.put(string(sign) + clip(text, at, w.most) + end)
}

// clip returns a text as valid UTF-8: if it has over most bytes, the part around an
// offset.
func clip(text string, at, most int) string {
	const mark = "…"
	if len(text) > most {
		room := most - 2*len(mark)
		from := min(max(at-room/3, 0), len(text)-room)
		for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
		to := min(from+room, len(text))
		for to > from && to < len(text) && !utf8.RuneStart(text[to]) {
			to--
		}
		before, behind := "", ""
		if from > 0 {
			before = mark
		}
		if to < len(text) {
			behind = mark
		}
		text = before + text[from:to] + behind
	}
	if utf8.ValidString(text) {
		return text
	}
	return strings.Map(func(r rune) rune { return r }, text)
}

// end returns the text.
func (w *writer) end() string {
	if w.left > 0 && w.b.Len() > 0 {
		fmt.Fprintf(&w.b, "(%d lines that differ are left out)\n", w.left)
	}
	return w.b.String()
}
