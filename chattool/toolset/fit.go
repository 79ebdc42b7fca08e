package toolset

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// A cut is a text that misses its middle: the beginning, the marker of the gap
// and the end. A text without a gap is all end.
type cut struct {
	begin, gap, end string
	// middle has the highlights, and stands between gap and end.
	middle     string
	highlights []procmgr.Highlight
	// begun and ended are how many bytes of the stream begin and end stand
	// for, those included that are missing within their lines.
	begun, ended int64
	// told says what is missing. It is nil if that is nothing.
	told *headtail.Truncation
}

func (c cut) String() string { return c.begin + c.gap + c.middle + c.end }

// fold folds the repeated lines of a text. The lines that the cut went through
// are not counted, because nobody knows their full text.
func (s *Set) fold(c cut) cut {
	if s.opts.KeepRepeats {
		return c
	}
	first := 0 // where the first whole line of the end begins
	if c.gap != "" {
		first = strings.IndexByte(c.end, '\n') + 1
	}
	c.begin, c.end = foldLines(c.begin), c.end[:first]+foldLines(c.end[first:])
	return c
}

// split takes a manager's text apart at its gap. t says what the text leaves
// out.
func split(text string, t *headtail.Truncation) cut {
	c := cut{end: text, told: t}
	if t == nil {
		return c
	}
	a := account{lines: t.TruncatedLines > 0}
	at := a.gap(text, t.OmittedBytes)
	if at == nil {
		return c
	}
	c.begin, c.gap, c.end = text[:at[0]], text[at[0]:at[1]], text[at[1]:]
	a.escaped = a.escapes(c.begin+c.end, t.RetainedBytes)
	c.begun, c.ended = a.covers(c.begin), a.covers(c.end)
	return c
}

// The markers that package headtail writes.
var (
	gapForm  = regexp.MustCompile(`\n\n\.\.\. \[omitted (\d{1,18}) bytes\] \.\.\.\n\n`)
	lineForm = regexp.MustCompile(` \.\.\. \[omitted (\d{1,18}) bytes\] \.\.\. `)
)

const minAround = 16

// fit shortens a text so that it takes at most limit bytes in a result, and says
// what it leaves out. The manager's limit counts the bytes of the plain text,
// but 32 KiB of a binary become 190 KB of JSON.
//
// fit makes no second cut. It makes the existing cut larger, as
// headtail.Snapshot.Text would. It removes text from the middle, around the
// place where output is missing already, and gives the marker there the new
// number. t says what the text leaves out so far. If t is nil, that is nothing,
// and stream is the number of bytes of the stream in the text.
func (f Format) fit(text string, t *headtail.Truncation, stream int64, limit int) cut {
	a := account{format: f, lines: t != nil && t.TruncatedLines > 0}
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

	room := limit - f.cost(gapMarker+strconv.FormatInt(original, 10)+gapMarkerEnd)
	if tailOnly := gap == "" && omitted > missing; tailOnly || room < minAround {
		end := a.end(back, f.suffix(back, limit), 0)
		return cut{end: end, ended: a.covers(end), told: a.truncation(original, end)}
	}
	half := room / 2
	if gap != "" {
		half = max(half, room-f.cost(back))
	}
	begin := a.beginning(front, f.prefix(front, half), half/4)
	room -= f.cost(begin)
	end := a.end(back, f.suffix(back, room), room/4)

	c := cut{begin: begin, end: end, begun: a.covers(begin), ended: a.covers(end), told: a.truncation(original, begin, end)}
	_, missing, _ = a.of(begin)
	_, more, _ := a.of(end)
	c.gap = gapMarker + strconv.FormatInt(max(c.told.OmittedBytes-missing-more, 0), 10) + gapMarkerEnd
	return c
}

// gapMarkerEnd ends the marker that gapMarker begins.
const gapMarkerEnd = " bytes] ...\n\n"

// An account counts how many bytes of the stream a text stands for.
type account struct {
	format  Format
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

// covers returns how many bytes of the stream a part stands for, those included
// that are missing within its lines.
func (a account) covers(part string) int64 {
	held, missing, _ := a.of(part)
	return held + missing
}

// escapes reports whether U+FFFD stands for single bytes in a text of so many
// bytes of the stream.
func (a account) escapes(text string, stream int64) bool {
	held, _, _ := a.of(text)
	return held > stream
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
		if i := strings.LastIndexByte(text[:n], '\n') + 1; i > 0 && a.format.cost(text[i:n]) <= slack {
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
		if i := from + strings.IndexByte(text[from:], '\n') + 1; i > from && i < len(text) && a.format.cost(text[from:i]) <= slack {
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
