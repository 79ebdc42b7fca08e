package toolset

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// limit returns how many bytes the output may take in a result.
func (s *Set) limit() int {
	switch n := s.opts.Limit.Bytes; {
	case n == 0:
		return headtail.DefaultTextLimit
	case n > 0:
		return n
	}
	return math.MaxInt
}

// shown returns the text of an output for a result, and says what that text
// leaves out. from is the offset that the model asked for.
func (s *Set) shown(out procmgr.Output, from int64) (string, *headtail.Truncation) {
	brief := func(text string, cut bool) string {
		if s.opts.KeepRepeats {
			return text
		}
		return fold(text, cut)
	}
	text, t := brief(out.Text, out.Truncated != nil), out.Truncated
	if limit := s.limit(); len(text) > limit/maxCost && encodedLen(text) > limit {
		// The text is cut before it is folded: folded text has other bytes than the stream.
		text, t = fit(out.Text, t, out.Next-from, limit)
		text = brief(text, true)
	}
	return text, t
}

// The markers that package headtail writes.
var (
	gapForm  = regexp.MustCompile(`\n\n\.\.\. \[omitted (\d{1,18}) bytes\] \.\.\.\n\n`)
	lineForm = regexp.MustCompile(` \.\.\. \[omitted (\d{1,18}) bytes\] \.\.\. `)
)

const minAround = 16

// fit shortens a text so that it takes at most limit bytes in JSON, and says
// what it leaves out. The manager's limit counts the bytes of the plain text,
// but 32 KiB of a binary become 190 KB of JSON.
//
// fit makes no second cut. It makes the existing cut larger, as
// headtail.Snapshot.Text would. It removes text from the middle, around the
// place where output is missing already, and gives the marker there the new
// number. t says what the text leaves out so far. If t is nil, that is nothing,
// and stream is the number of bytes of the stream in the text.
func fit(text string, t *headtail.Truncation, stream int64, limit int) (string, *headtail.Truncation) {
	a := account{lines: t != nil && t.TruncatedLines > 0}
	front, back, gap := text, text, ""
	if t != nil {
		if at := a.gap(text, t.OmittedBytes); at != nil {
			front, back, gap = text[:at[0]], text[at[1]:], text[at[0]:at[1]]
		}
	}
	// The text is valid UTF-8. If U+FFFD stands for bytes of the stream,
	// the text is longer than those bytes.
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

// gapMarkerEnd ends the marker that gapMarker begins.
const gapMarkerEnd = " bytes] ...\n\n"

// gapCost returns the most bytes that the marker of a gap takes in JSON.
func gapCost(original int64) int {
	return encodedLen(gapMarker + strconv.FormatInt(original, 10) + gapMarkerEnd)
}

// An account counts how many bytes of the stream a text stands for.
type account struct {
	lines   bool // the manager wrote the markers within lines, not the program
	escaped bool // U+FFFD stands for one byte, not for its own three
}

// of returns how many bytes of the stream a part of a text has. It also returns
// how many bytes are missing within its lines, and in how many lines.
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

// gap finds the marker that stands for the bytes missing between two lines, or
// returns nil. The program may have printed text that looks like a marker. The
// manager's marker has the number of all missing bytes except those that are
// missing within lines.
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

// beginning returns the first n bytes of a text, or fewer. It goes back to a
// line end if that costs at most slack bytes. It never ends within a marker,
// nor at the end of one, since the marker of the gap follows.
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

// end does the same as beginning for the text behind the gap, which it returns
// from an offset on. It is never empty.
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

// truncation describes the parts that are left of original bytes of the stream.
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
