// Package linediff compares two outputs line by line, in bounded time and memory. It
// reads no file and knows no process.
//
// Two lines are the same if they have the same bytes, the line end included, but for a
// time, of two kinds. The list is closed: any other number may be the answer.
//
//  1. A date with a time of day, or a time of day, with which a line begins, in brackets
//     or not, if more follows: 2006-01-02 15:04:05, 2006/01/02 15:04:05,
//     2006-01-02T15:04:05.000Z, 15:04:05, [15:04:05], Jan  2 15:04:05. A time of day has
//     seconds, since 12:30 may be a line and a column. Two of them are equal if they are
//     as far apart as the starts of the two processes: 10 s more or less, or as long as
//     the longer process ran. Without a date, days do not count. A zone is compared, and
//     so is a date without a time of day.
//  2. The duration with which a line of a test runner ends. It is 0.12s, 0.12 s,
//     12ms or 12 ms, with a fraction for seconds, since a test may be named
//     after a timeout of 30s:
//     - in ( ) or [ ] behind --- PASS:, --- FAIL:, --- SKIP:, PASS, FAIL, ok,
//     not ok, a tick or a cross, (pass), (fail), (skip), test, or a status of
//     googletest such as [       OK ]; and behind a number and "passing",
//     "failing", "passed" or "failed"
//     - bare in a line of go test that has a package alone: ok  pkg  0.512s
//     - behind "in" and before the border of pytest's last line, === 3 passed in
//     0.12s ===, and behind "in" in unittest's Ran 3 tests in 0.001s and in
//     Rust's test result: … finished in 0.12s
//     - the number behind duration_ms in a line of node --test
//     Two of them are equal if they differ by less than a second, or by less than half
//     of the shorter one.
package linediff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// An Output is the output of a process, and when that ran.
type Output struct {
	Text string
	// Start is when the process started, by the clock of its machine, which has printed
	// the times in Text. If that is not known, no date is equal to another one.
	Start time.Time
	Took  time.Duration
}

// Changes says how an output differs from an earlier one.
type Changes struct {
	// Same is set if every line is the same, in the same order, but for times.
	Same bool
	// Times counts the lines that are the same but for a time.
	Times int
	// Added and Removed count the lines that only the later and only the earlier output
	// has. Lines counts all lines of the later output.
	Added, Removed, Lines int
	// Text has the hunks as diff -U2 writes them, without the two lines that name
	// the files. Every line of an output is behind a blank, a + or a -. So a line
	// that begins with none of these, nor with the @@ of a hunk, is of this
	// package: it says that the order of the lines differs. If all of it does not
	// fit the limit, Text is empty.
	Text string
}

const (
	// context is how many lines before and after a change a hunk has.
	context = 2
	// maxBytes and maxLines bound what is compared of each output: what is left without
	// the bytes that are equal at their beginnings and at their ends.
	maxBytes = 1 << 20
	maxLines = 20_000
	// maxEdits is how many lines may be added and removed. Far fewer than that are in a
	// text that a model reads.
	maxEdits = 1024
)

// Find compares an output with an earlier one. ok is false if there is too much to
// compare.
func Find(before, after Output, limit headtail.Limits) (c Changes, ok bool) {
	c.Lines = lines(after.Text)
	if before.Text == after.Text {
		c.Same = true
		return c, true
	}
	front, back := trim(before.Text, after.Text)
	a, b := before.Text[front:len(before.Text)-back], after.Text[front:len(after.Text)-back]
	linesA, linesB := lines(a), lines(b)
	if len(a) > maxBytes || len(b) > maxBytes || linesA > maxLines || linesB > maxLines {
		return Changes{}, false
	}
	f := finder{
		comparison: compareTimes(before, after),
		before:     slices.Collect(strings.Lines(a)), after: slices.Collect(strings.Lines(b)),
		first: strings.Count(before.Text[:front], "\n") + 1,
	}
	inOrder := f.compare()
	c.Times = f.times
	c.Added, c.Removed = linesB-len(f.pairs), linesA-len(f.pairs)
	if c.Added+c.Removed == 0 {
		c.Same = true
		return c, true
	}
	most, line := limit.Resolve()
	w := &writer{most: line}
	// The lines that were trimmed are in both.
	all := 2*c.Lines + linesA - linesB
	removed, added, times := f.apart()
	switch n := len(removed) + len(added); {
	case !inOrder && n > maxEdits:
		return Changes{}, false
	case !inOrder, 2*(c.Added+c.Removed) > all && n < c.Added+c.Removed:
		c.Added, c.Removed, c.Times = len(added), len(removed), times
		f.set(w, removed, added)
	default:
		f.hunks(w)
	}
	if w.Len() <= most {
		c.Text = w.String()
	}
	return c, true
}

// trim returns how many bytes of whole lines two texts have in common at their beginnings
// and at their ends, without the lines that a hunk may show.
func trim(a, b string) (front, back int) {
	front = strings.LastIndexByte(a[:commonPrefix(a, b)], '\n') + 1
	for range context {
		front -= len(lastLine(a[:front]))
	}
	a, b = a[front:], b[front:]
	back = commonSuffix(a, b)
	end := a[len(a)-back:]
	for range context + 1 { // the first line of it may be a part of one
		end = end[len(firstLine(end)):]
	}
	return front, len(end)
}

// lines counts the lines of a text; the last one need not have a line end.
func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

func firstLine(text string) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1]
	}
	return text
}

func lastLine(text string) string {
	if text == "" {
		return ""
	}
	return text[strings.LastIndexByte(text[:len(text)-1], '\n')+1:]
}

// A finder compares two outputs.
type finder struct {
	comparison
	before, after []string // the lines that are compared
	first         int      // the number of the first one in both, from 1 on
	idsA, idsB    []int32  // of these lines: the same for lines that may be the same
	kinds         int      // how many ids there are
	pairs         []pair   // the lines that belong together, in order
	times         int      // how many of pairs differ in a time
}

// commonPrefix returns how many bytes two texts have in common at their
// beginnings.
func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// commonSuffix does the same for their ends.
func commonSuffix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// compare finds the lines that belong together. It reports false, and finds none, if
// more than maxEdits lines of both are not in order.
func (f *finder) compare() bool {
	if f.oneByOne() {
		return true
	}
	f.number()
	inA, inB := make([]bool, f.kinds), make([]bool, f.kinds)
	for _, id := range f.idsA {
		inA[id] = true
	}
	for _, id := range f.idsB {
		inB[id] = true
	}
	// A line that only one of them has belongs to none of the other.
	common := func(ids []int32, other []bool) (lines, at []int32) {
		for i, id := range ids {
			if other[id] {
				lines, at = append(lines, id), append(at, int32(i))
			}
		}
		return lines, at
	}
	a, atA := common(f.idsA, inB)
	b, atB := common(f.idsB, inA)
	pairs, ok := match(a, b)
	for _, p := range pairs {
		if i, j := atA[p.a], atB[p.b]; f.same(i, j) {
			f.pairs = append(f.pairs, pair{i, j})
		}
	}
	return ok
}

// oneByOne pairs the lines in their order, if all of them are the same.
func (f *finder) oneByOne() bool {
	if len(f.before) != len(f.after) {
		return false
	}
	for i := range int32(len(f.before)) {
		if !f.same(i, i) {
			f.pairs, f.times = nil, 0
			return false
		}
		f.pairs = append(f.pairs, pair{i, i})
	}
	return true
}

// same reports whether two lines are the same, and counts pairs that differ only in a
// time.
func (f *finder) same(i, j int32) bool {
	if f.before[i] == f.after[j] {
		return true
	}
	if !f.sameLine(f.before[i], f.after[j]) {
		return false
	}
	f.times++
	return true
}

// number gives each line an id. Lines that are the same but for a time have the same
// one, unless both outputs have their texts equally often: times that stay belong to
// themselves.
func (f *finder) number() {
	more := make(map[string]int) // how many more before has of a text
	for _, line := range f.before {
		more[line]++
	}
	for _, line := range f.after {
		more[line]--
	}
	ids := make(map[string]int32)
	number := func(lines []string, year int) []int32 {
		all := make([]int32, len(lines))
		for i, line := range lines {
			if more[line] != 0 {
				line = form(line, findStamp(line, year))
			}
			id, ok := ids[line]
			if !ok {
				id = int32(len(ids))
				ids[line] = id
			}
			all[i] = id
		}
		return all
	}
	f.idsA, f.idsB = number(f.before, f.years[0]), number(f.after, f.years[1])
	f.kinds = len(ids)
}

// apart returns the indexes of the lines that only one of the outputs has, whatever
// their order, and how many others differ in a time.
func (f *finder) apart() (removed, added []int32, times int) {
	waiting := make([][]int32, f.kinds) // the lines of before that have no partner
	for i, id := range f.idsA {
		waiting[id] = append(waiting[id], int32(i))
	}
	f.times = 0
	for j, id := range f.idsB {
		if len(waiting[id]) > 0 && f.same(waiting[id][0], int32(j)) {
			waiting[id] = waiting[id][1:]
			continue
		}
		added = append(added, int32(j))
	}
	return slices.Sorted(slices.Values(slices.Concat(waiting...))), added, f.times
}

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
	for _, p := range f.pairs {
		gap(int(p.a), int(p.b))
		a, b = int(p.a)+1, int(p.b)+1
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
		f.hunk(w, all[begin:end])
		begin = end
	}
}

// hunk writes changes that are close together.
func (f *finder) hunk(w *writer, all []block) {
	first, last := all[0], all[len(all)-1]
	lead := min(context, first.a0)
	tail := min(context, len(f.before)-last.a1)
	a0, b0 := first.a0-lead, first.b0-lead
	fmt.Fprintf(&w.Builder, "@@ -%s +%s @@\n", f.span(a0, last.a1+tail), f.span(b0, last.b1+tail))
	// What is the same is shown as it is now.
	at := b0
	same := func(to int) {
		for ; at < to; at++ {
			w.line(' ', f.after[at], 0)
		}
	}
	for _, b := range all {
		same(b.b0)
		for j, line := range f.before[b.a0:b.a1] {
			w.line('-', line, apartAt(line, f.after[b.b0:b.b1], j))
		}
		for j, line := range f.after[b.b0:b.b1] {
			w.line('+', line, apartAt(line, f.before[b.a0:b.a1], j))
		}
		at = b.b1
	}
	same(last.b1 + tail)
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
func (f *finder) set(w *writer, removed, added []int32) {
	w.WriteString("(The order of the lines differs. They are compared as a set: only lines that are more or fewer than before follow.)\n")
	for _, i := range removed {
		w.line('-', f.before[i], 0)
	}
	for _, i := range added {
		w.line('+', f.after[i], 0)
	}
}

// A writer writes the text of changes.
type writer struct {
	strings.Builder
	most int // bytes of a line
}

// line writes a line of an output as valid UTF-8. If it is too long, the part
// around an offset stays.
func (w *writer) line(sign byte, line string, at int) {
	text, ended := strings.CutSuffix(line, "\n")
	w.WriteByte(sign)
	w.WriteString(Excerpt([]byte(text), at, w.most))
	w.WriteByte('\n')
	if !ended {
		w.WriteString("\\ No newline at end of file\n")
	}
}
