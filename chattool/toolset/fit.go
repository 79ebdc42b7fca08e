package toolset

import (
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
	// unscanned is how much of what is missing was not searched for them.
	unscanned int64
	// begun is how many bytes of the stream begin stands for, those included
	// that are missing within its lines.
	begun int64
	// missing has the parts of the stream that the text leaves out. It is empty
	// if told is not nil and the manager did not tell them.
	missing []headtail.Cut
	// told says how much is missing. It is nil if that is nothing.
	told *headtail.Truncation
	// folded is how many runs of lines were folded. mayShow is how many highlights
	// there can be, if the text stands for the longest one.
	folded, mayShow int
}

func (c cut) String() string { return c.begin + c.gap + c.middle + c.end }

// known reports whether it is known which parts of the stream are missing.
func (c cut) known() bool { return len(c.missing) > 0 }

// shows reports whether n bytes of the stream, from an offset on, are in the
// text.
func (c cut) shows(offset int64, n int) bool {
	for _, m := range c.missing {
		if offset < m.To && m.From < offset+int64(n) {
			return false
		}
	}
	return c.known()
}

// fold folds the repeated lines of a text. The lines that the cut went through
// are not counted, because nobody knows their full text.
func (l *layout) fold(c cut) cut {
	if l.writer.KeepRepeats {
		return c
	}
	first := 0 // where the first whole line of the end begins
	if c.gap != "" {
		first = strings.IndexByte(c.end, '\n') + 1
	}
	begin, runs := foldLines(c.begin)
	end, more := foldLines(c.end[first:])
	c.begin, c.end, c.folded = begin, c.end[:first]+end, c.folded+runs+more
	return c
}

// A source is a text as a manager gives it, and what it leaves out. All that is
// known of that comes from the manager. The text is never searched for markers,
// because a program can print text that looks like one.
type source struct {
	format Format
	text   string
	from   int64 // the offset in the stream at which the text begins
	told   *headtail.Truncation
	cuts   []headtail.Cut // what is missing, in the order of the stream
	gap    headtail.Cut   // the one of them between two lines; Len 0: there is none
	// tail reports whether the text may be the end of the stream alone.
	tail    bool
	escaped bool // U+FFFD stands for one byte of the stream, not for its own three
	invalid int  // how many bytes of the stream are such a U+FFFD
}

// source returns the output of a report.
func (l *layout) source() source {
	out := l.draft.Out
	s := source{format: l.writer.Format, text: out.Text, from: l.draft.From, told: out.Truncated}
	stream := out.Next - s.from + int64(len(out.Live))
	if t := s.told; t != nil {
		stream = t.RetainedBytes
		if tells(t, out.Text) {
			s.cuts = t.Cuts
		}
		s.tail = t.OmittedBytes > 0 && s.cuts == nil
	}
	for _, c := range s.cuts {
		switch {
		case c.Len == 0:
			s.tail = true
		case !c.Line:
			s.gap = c
		}
	}
	held, _, _ := s.of(0, len(s.text))
	s.escaped = held > stream
	s.invalid = int(min(max(held-stream, 0)/2, int64(strings.Count(s.text, "\uFFFD"))))
	if s.cuts != nil {
		held, _, _ = s.of(0, s.cuts[0].At)
		s.from = s.cuts[0].From - held
	}
	return s
}

// tells reports whether a Truncation tells the parts that are missing, and the
// markers of a text. One from another machine may say anything.
func tells(t *headtail.Truncation, text string) bool {
	at, from, sum, gaps := 0, int64(0), int64(0), 0
	for _, c := range t.Cuts {
		if c.At < at || c.Len < 0 || c.Len > len(text)-c.At || c.From < from || c.To <= c.From {
			return false
		}
		at, from, sum = c.At+c.Len, c.To, sum+c.To-c.From
		if !c.Line {
			gaps++
		}
	}
	return len(t.Cuts) > 0 && gaps <= 1 && sum == t.OmittedBytes
}

const minAround = 16

// whole takes a manager's text apart at its gap.
func (s source) whole() cut {
	c := cut{end: s.text, missing: s.cuts}
	if s.told != nil {
		told := *s.told
		told.Cuts = nil // they are about the text as the manager gave it
		c.told = &told
	}
	if s.gap.Len > 0 {
		after := s.gap.At + s.gap.Len
		c.begin, c.gap, c.end = s.text[:s.gap.At], s.text[s.gap.At:after], s.text[after:]
		c.begun = s.covers(0, s.gap.At)
	}
	return c
}

// fit shortens a text so that it takes at most limit bytes in a result, and says
// what it leaves out. The manager's limit counts the bytes of the plain text,
// but 32 KiB of a binary become 190 KB of JSON.
//
// fit makes no second cut. It makes the existing cut larger, as
// headtail.Snapshot.Text would. It removes text from the middle, around the
// place where output is missing already, and gives the marker there the new
// number.
func (s source) fit(limit int) cut {
	f, front, back := s.format, len(s.text), 0
	if s.gap.Len > 0 {
		front, back = s.gap.At, s.gap.At+s.gap.Len
	}
	original := s.covers(0, len(s.text))
	if s.told != nil {
		original = s.told.OriginalBytes
	}
	room := limit - f.cost(gapMarker+strconv.FormatInt(original, 10)+gapMarkerEnd)
	if s.tail || room < minAround {
		return s.around(original, 0, s.end(back, back+f.suffix(s.text[back:], limit), 0))
	}
	half := room / 2
	if s.gap.Len > 0 {
		half = max(half, room-f.cost(s.text[back:]))
	}
	begin := s.beginning(front, f.prefix(s.text[:front], half), half/4)
	room -= f.cost(s.text[:begin])
	end := s.end(back, back+f.suffix(s.text[back:], room), room/4)
	c := s.around(original, begin, end)
	inLines := int64(0)
	for _, m := range c.missing {
		if m.Line {
			inLines += m.To - m.From
		}
	}
	c.gap = gapMarker + strconv.FormatInt(max(c.told.OmittedBytes-inLines, 0), 10) + gapMarkerEnd
	return c
}

// around returns the text without what stands between two offsets in it, and
// without a marker. original is how many bytes of the stream the whole text
// stands for.
func (s source) around(original int64, begin, end int) cut {
	c := cut{begin: s.text[:begin], end: s.text[end:], begun: s.covers(0, begin)}
	held, _, lines := s.of(0, begin)
	more, _, others := s.of(end, len(s.text))
	t := &headtail.Truncation{OriginalBytes: original, TruncatedLines: lines + others, Strategy: "head_tail"}
	t.RetainedBytes = min(held+more, original)
	t.OmittedBytes = original - t.RetainedBytes
	c.told = t
	if s.told != nil && s.cuts == nil {
		return c // nobody knows what has been missing before
	}
	middle := headtail.Cut{From: s.from + c.begun, To: s.from + original - s.covers(end, len(s.text))}
	for _, m := range s.cuts {
		if m.Line && m.At+m.Len <= begin {
			c.missing = append(c.missing, m)
		}
	}
	c.missing = append(c.missing, middle)
	for _, m := range s.cuts {
		if m.Line && m.At >= end {
			c.missing = append(c.missing, m)
		}
	}
	return c
}

// gapMarkerEnd ends the marker that gapMarker begins.
const gapMarkerEnd = " bytes] ...\n\n"

// of returns how many bytes of the stream the text has between two offsets in
// it. It also returns how many bytes are missing within the lines there, and in
// how many lines. No marker crosses such an offset.
func (s source) of(begin, end int) (held, missing int64, lines int) {
	part := s.text[begin:end]
	held = int64(len(part))
	if s.escaped {
		held -= 2 * int64(strings.Count(part, "\uFFFD"))
	}
	for _, c := range s.cuts {
		if c.Len == 0 || c.At < begin || c.At+c.Len > end {
			continue
		}
		held -= int64(c.Len)
		if c.Line {
			missing += c.To - c.From
			lines++
		}
	}
	return held, missing, lines
}

// covers returns how many bytes of the stream the text stands for between two
// offsets in it, those included that are missing within its lines.
func (s source) covers(begin, end int) int64 {
	held, missing, _ := s.of(begin, end)
	return held + missing
}

// beginning returns n, or an offset before it: the start of a line, if that
// costs at most slack bytes. The text before the offset ends neither within a
// marker nor with one, since the marker of the gap follows. limit is the end of
// the text before the gap.
func (s source) beginning(limit, n, slack int) int {
	if n < limit && s.text[n] != '\n' {
		if i := strings.LastIndexByte(s.text[:n], '\n') + 1; i > 0 && s.format.cost(s.text[i:n]) <= slack {
			n = i
		}
	}
	for _, c := range s.cuts {
		if c.Len > 0 && c.At < n && n <= c.At+c.Len {
			n = c.At
		}
	}
	return n
}

// end does the same as beginning for the text behind the gap, which begins at
// start: it returns an offset from which on it stays. Some of it stays.
func (s source) end(start, from, slack int) int {
	if from > start && s.text[from-1] != '\n' {
		if i := from + strings.IndexByte(s.text[from:], '\n') + 1; i > from && i < len(s.text) && s.format.cost(s.text[from:i]) <= slack {
			from = i
		}
	}
	for _, c := range s.cuts {
		if c.Len > 0 && c.At <= from && from < c.At+c.Len && c.At+c.Len < len(s.text) {
			from = c.At + c.Len
		}
	}
	return from
}
