package toolset

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// limit returns how many bytes the output in a result may take there.
func (s *Set) limit() int {
	switch n := s.opts.Limit.Bytes; {
	case n == 0:
		return headtail.DefaultTextLimit
	case n > 0:
		return n
	}
	return math.MaxInt
}

// shown returns the text of an output as a result has it, and what that leaves
// out. from is the offset that was asked for.
func (s *Set) shown(out procmgr.Output, from int64) (string, *headtail.Truncation) {
	brief := func(text string, cut bool) string {
		if s.opts.KeepRepeats {
			return text
		}
		return fold(text, cut)
	}
	text, t := brief(out.Text, out.Truncated != nil), out.Truncated
	if limit := s.limit(); len(text) > limit/maxCost && encodedLen(text) > limit {
		// What is folded has other bytes than the stream: it is cut first.
		text, t = fit(out.Text, t, out.Next-from, limit)
		text = brief(text, true)
	}
	return text, t
}

// How package headtail writes its markers, and the least that it leaves of the
// output itself where a marker stands in its middle.
var (
	gapForm  = regexp.MustCompile(`\n\n\.\.\. \[omitted (\d{1,18}) bytes\] \.\.\.\n\n`)
	lineForm = regexp.MustCompile(` \.\.\. \[omitted (\d{1,18}) bytes\] \.\.\. `)
)

const minAround = 16

// fit returns a text in at most limit bytes as they are encoded, and what it
// leaves out. The limit that a manager keeps counts the bytes of the text, and
// 32 KiB of a binary become 190 KB of JSON.
//
// It does not cut a second time: it makes the one cut larger, as
// headtail.Snapshot.Text would have made it. What goes is the middle, around the
// place where output is missing already, and the marker there gets the new
// number. t is what the text leaves out so far; nil for nothing, and then stream
// is how many bytes of the stream the text has.
func fit(text string, t *headtail.Truncation, stream int64, limit int) (string, *headtail.Truncation) {
	a := account{lines: t != nil && t.TruncatedLines > 0}
	front, back, gap := text, text, ""
	if t != nil {
		if at := a.gap(text, t.OmittedBytes); at != nil {
			front, back, gap = text[:at[0]], text[at[1]:], text[at[0]:at[1]]
		}
	}
	// The text is valid UTF-8, so that it is longer than its bytes in the
	// stream where U+FFFD stands for some of them.
	held, missing, _ := a.of(strings.Replace(text, gap, "", 1))
	original, omitted := held, int64(0)
	if t != nil {
		original, omitted, stream = t.OriginalBytes, t.OmittedBytes, t.RetainedBytes
	}
	if a.escaped = held > stream; a.escaped && t == nil {
		original, _, _ = a.of(text)
	}

	room := limit - gapCost(original)
	if tailOnly := gap == "" && omitted > missing; tailOnly || room < minAround {
		at, _ := suffix(back, limit)
		return back[at:], a.truncation(original, back[at:])
	}
	half := room / 2
	if gap != "" {
		half = max(half, room-encodedLen(back))
	}
	n, _ := prefix(front, half)
	begin := a.beginning(front, n, half/4)
	room -= encodedLen(begin)
	at, _ := suffix(back, room)
	end := a.end(back, at, room/4)

	told := a.truncation(original, begin, end)
	_, missing, _ = a.of(begin)
	_, more, _ := a.of(end)
	return begin + gapMarker + strconv.FormatInt(max(told.OmittedBytes-missing-more, 0), 10) + gapMarkerEnd + end, told
}

// gapMarkerEnd is how the marker ends that begins as gapMarker.
const gapMarkerEnd = " bytes] ...\n\n"

// gapCost returns what the marker of a gap takes at most as it is encoded.
func gapCost(original int64) int {
	return encodedLen(gapMarker + strconv.FormatInt(original, 10) + gapMarkerEnd)
}

// An account counts the bytes of the stream that a text stands for.
type account struct {
	lines   bool // markers within lines are the manager's, and not the program's
	escaped bool // U+FFFD stands for one byte, and not for its own three
}

// of returns how many bytes of the stream a part of a text has, and how many are
// missing in the middle of how many of its lines.
func (a account) of(part string) (held, missing int64, lines int) {
	held = int64(len(part))
	if a.escaped {
		held -= 2 * int64(strings.Count(part, "\uFFFD"))
	}
	for _, at := range a.markers(part) {
		n, _ := strconv.ParseInt(part[at[2]:at[3]], 10, 64) // its form is known
		held -= int64(at[1] - at[0])
		missing += n
		lines++
	}
	return held, missing, lines
}

// markers finds the markers within lines.
func (a account) markers(part string) [][]int {
	if !a.lines {
		return nil
	}
	return lineForm.FindAllStringSubmatchIndex(part, -1)
}

// gap finds the marker in the place of what is missing between two lines, or
// nil. A program may have printed what looks like one: the manager's has all
// the bytes that no line misses.
func (a account) gap(text string, omitted int64) (found []int) {
	_, missing, _ := a.of(text)
	best := int64(-1)
	for _, at := range gapForm.FindAllStringSubmatchIndex(text, -1) {
		n, _ := strconv.ParseInt(text[at[2]:at[3]], 10, 64) // its form is known
		if n == omitted-missing {
			return at
		}
		if n > best && n <= omitted {
			found, best = at, n
		}
	}
	return found
}

// beginning returns the first n bytes of a text, or fewer: up to a line end that
// costs at most slack, and never a part of a marker, nor one that the gap's
// would follow.
func (a account) beginning(text string, n, slack int) string {
	if n < len(text) && text[n] != '\n' {
		if i := strings.LastIndexByte(text[:n], '\n') + 1; i > 0 && encodedLen(text[i:n]) <= slack {
			n = i
		}
	}
	for _, at := range a.markers(text) {
		if at[0] < n && n <= at[1] {
			n = at[0]
		}
	}
	return text[:n]
}

// end is beginning for what stands behind the gap, from an offset on. It is
// never empty.
func (a account) end(text string, from, slack int) string {
	if from > 0 && text[from-1] != '\n' {
		if i := from + strings.IndexByte(text[from:], '\n') + 1; i > from && i < len(text) && encodedLen(text[from:i]) <= slack {
			from = i
		}
	}
	for _, at := range a.markers(text) {
		if at[0] <= from && from < at[1] && at[1] < len(text) {
			from = at[1]
		}
	}
	return text[from:]
}

// truncation tells what is left of so many bytes of the stream.
func (a account) truncation(original int64, parts ...string) *headtail.Truncation {
	t := &headtail.Truncation{OriginalBytes: original, Strategy: "head_tail"}
	for _, part := range parts {
		held, _, lines := a.of(part)
		t.RetainedBytes += held
		t.TruncatedLines += lines
	}
	t.RetainedBytes = min(t.RetainedBytes, original)
	t.OmittedBytes = original - t.RetainedBytes
	return t
}
