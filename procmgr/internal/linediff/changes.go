package linediff

import (
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/linematch"
)

// Changes says how an output differs from an earlier one.
type Changes struct {
	// Same is set if every line is the same, in the same order.
	Same bool
	// Added and Removed count the lines that only the later and only the earlier
	// output has, and Lines all those of the later one.
	Added, Removed, Lines int
	// Text has the hunks as diff -U2 writes them, without the two lines that name
	// the files. Every line of an output is behind a blank, a + or a -. So a line
	// that begins with none of these, nor with the @@ of a hunk, is of this
	// package: it says that the order of the lines differs, or that the limit
	// leaves something out.
	Text string
}

// context is how many lines before and after a change a hunk has.
const context = 2

// maxLines is how many lines of both outputs are compared at most, beside those
// that are the same at their beginnings and their ends.
const maxLines = 1 << 20

// Find compares an output with an earlier one. ok is false if the deadline has
// passed before it was done, or if there are too many lines.
func Find(before, after string, limit headtail.Limits, deadline time.Time) (c Changes, ok bool) {
	f := finder{Matcher: linematch.Matcher{Deadline: deadline}}
	c.Lines = lines(after)
	front, end, ok := f.trim(before, after)
	if !ok {
		return Changes{}, false
	}
	before, after = before[front.a:len(before)-end.a], after[front.b:len(after)-end.b]
	if before == "" && after == "" {
		c.Same = true
		return c, true
	}
	if lines(before)+lines(after) > maxLines {
		return Changes{}, false
	}
	f.before, f.after, f.first = split(before), split(after), front.lines+1
	if !f.compare() {
		return Changes{}, false
	}
	w := newWriter(limit)
	all := front.lines + len(f.before) + end.lines + c.Lines // of both
	c.Added, c.Removed = len(f.after)-len(f.Pairs), len(f.before)-len(f.Pairs)
	if added, removed := f.apart(); 2*(c.Added+c.Removed) > all && added+removed < c.Added+c.Removed {
		c.Added, c.Removed = added, removed
		f.set(w)
	} else {
		f.hunks(w)
	}
	c.Text = w.end()
	return c, true
}

// lines counts the lines of a text; the last one need not have a line end.
func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// split returns the lines of a text, with their line ends.
func split(text string) []string {
	all := make([]string, 0, lines(text))
	for text != "" {
		line := firstLine(text)
		all, text = append(all, line), text[len(line):]
	}
	return all
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
	linematch.Matcher
	before, after []string // the lines that are compared
	first         int      // the number of the first one in both, from 1 on
	idsA, idsB    []int32  // of these lines: the same for lines that are the same
	inA, inB      []int32  // how often each number is there
}

// A trimmed is what two outputs have in common at one of their ends: so many bytes
// of each, and so many lines of both.
type trimmed struct{ a, b, lines int }

// trim finds the lines with which both begin and with which both end, but for
// those that a hunk may show. ok is false if the time is over.
func (f *finder) trim(a, b string) (front, end trimmed, ok bool) {
	var last [context][2]int // the lengths of the last lines, the newest at lines % context
	for front.a < len(a) && front.b < len(b) {
		restA, restB := a[front.a:], b[front.b:]
		same := commonPrefix(restA, restB)
		if same == len(restA) && same == len(restB) {
			return trimmed{a: len(a), b: len(b)}, trimmed{}, true
		}
		if whole := strings.LastIndexByte(restA[:same], '\n') + 1; whole > 0 {
			// Only the last lines have to be known.
			n := strings.Count(restA[:whole], "\n")
			at := whole
			for i := range min(n, context) {
				size := len(lastLine(restA[:at]))
				last[(front.lines+n-1-i)%context] = [2]int{size, size}
				at -= size
			}
			front = trimmed{front.a + whole, front.b + whole, front.lines + n}
			if f.Spend(whole / 16) {
				return front, end, false
			}
			continue
		}
		lineA, lineB := firstLine(restA), firstLine(restB)
		if f.Spend(len(lineA)) {
			return front, end, false
		}
		if !sameLine(lineA, lineB) {
			break
		}
		last[front.lines%context] = [2]int{len(lineA), len(lineB)}
		front = trimmed{front.a + len(lineA), front.b + len(lineB), front.lines + 1}
	}
	if front.a == len(a) && front.b == len(b) {
		return front, end, true
	}
	// A hunk needs its lines.
	for range min(context, front.lines) {
		front.lines--
		size := last[front.lines%context]
		front.a, front.b = front.a-size[0], front.b-size[1]
	}
	a, b = a[front.a:], b[front.b:]
	for a != "" && b != "" {
		lineA, lineB := lastLine(a), lastLine(b)
		if f.Spend(len(lineA) / 4) {
			return front, end, false
		}
		if !sameLine(lineA, lineB) {
			break
		}
		last[end.lines%context] = [2]int{len(lineA), len(lineB)}
		a, b = a[:len(a)-len(lineA)], b[:len(b)-len(lineB)]
		end = trimmed{end.a + len(lineA), end.b + len(lineB), end.lines + 1}
	}
	for range min(context, end.lines) {
		end.lines--
		size := last[end.lines%context]
		end.a, end.b = end.a-size[0], end.b-size[1]
	}
	return front, end, true
}

// commonPrefix returns how many bytes two texts have in common at their
// beginnings.
func commonPrefix(a, b string) int {
	const chunk = 4 << 10
	most := min(len(a), len(b))
	n := 0
	for n < most {
		end := min(n+chunk, most)
		if a[n:end] == b[n:end] {
			n = end
			continue
		}
		for a[n] == b[n] {
			n++
		}
		break
	}
	return n
}

// compare finds the lines that belong together. It reports whether the time has
// sufficed.
func (f *finder) compare() bool {
	ids := make(map[string]int32)
	var mask masks
	number := func(of []string) []int32 {
		all := make([]int32, len(of))
		for i, line := range of {
			if f.Spend(64 + len(line)) {
				return nil
			}
			k := key(line, &mask)
			id, ok := ids[k]
			if !ok {
				id = int32(len(ids))
				ids[k] = id
			}
			all[i] = id
		}
		return all
	}
	f.idsA = number(f.before)
	f.idsB = number(f.after)
	if f.Late {
		return false
	}
	f.inA, f.inB = make([]int32, len(ids)), make([]int32, len(ids))
	for _, id := range f.idsA {
		f.inA[id]++
	}
	for _, id := range f.idsB {
		f.inB[id]++
	}
	// A line that only one of them has belongs to none of the other.
	common := func(ids, other []int32) (lines, at []int32) {
		for i, id := range ids {
			if other[id] > 0 {
				lines, at = append(lines, id), append(at, int32(i))
			}
		}
		return lines, at
	}
	a, atA := common(f.idsA, f.inB)
	b, atB := common(f.idsB, f.inA)
	f.Match(a, b, atA, atB)
	return !f.Late
}

// apart counts the lines that only one of the outputs has, whatever their order.
func (f *finder) apart() (added, removed int) {
	for id := range f.inA {
		added += max(int(f.inB[id]-f.inA[id]), 0)
		removed += max(int(f.inA[id]-f.inB[id]), 0)
	}
	return added, removed
}
