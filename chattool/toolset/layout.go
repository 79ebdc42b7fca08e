package toolset

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// binaryPart is how much of an output may be controls or invalid bytes, in
	// percent. Nobody wants to read one that has more.
	binaryPart = 30
	// maxBinary is how many bytes of such an output a result shows.
	maxBinary = 512
	// mostShown is a number as long as that of the highlights can get.
	mostShown = 999
	// unscannedNote says how much of what is cut was not searched.
	unscannedNote = "%s bytes of the middle were not searched for trouble"
)

// A layout puts the output into a report.
type layout struct {
	writer writer
	ctx    context.Context
	draft  *report
	notes  []string // without those on what is cut
	log    string   // the LogPath of a report whose text is not cut
}

// lay lays the output out so that the result takes at most size bytes, and
// returns the result. If its facts and notes take more than half of that, the
// output gets the other half all the same.
func (l *layout) lay(size int) string {
	r := l.draft
	binary := isBinary(r.Out.Text)
	if r.Out.Truncated == nil && !binary {
		whole := cut{end: r.Out.Text}
		if content := l.write(whole, l.notes); len(content) <= size {
			return content
		}
	}
	none := l.cut(0)
	if none.told == nil { // an output without a byte
		return l.write(none, l.notes)
	}
	// Numbers as long as they can get.
	total := none.told.OriginalBytes
	longest := cut{begun: total, missing: []headtail.Cut{{}}, told: &headtail.Truncation{OriginalBytes: total, RetainedBytes: total, OmittedBytes: total}}
	if t := r.Out.Truncated; t != nil {
		longest.told.TruncatedLines = t.TruncatedLines
	}
	if runs := l.fold(l.source().whole()).folded; runs > 0 {
		longest.folded = runs + 1 // the gap may lie within one
	}
	if r.Find != nil && r.Out.Process.LogPath != "" {
		longest.mayShow = mostShown
	}
	beside := len(l.write(longest, l.cutNotes(longest, binary)))
	room := max(size-beside, size/2)
	if binary {
		room = min(room, maxBinary)
	}
	c := l.cut(room)
	if c.told == nil {
		return l.write(c, l.notes)
	}
	if !binary {
		c = l.highlight(c, size, room)
	}
	return l.write(c, l.cutNotes(c, binary))
}

// cut returns the output in at most room bytes of a result.
func (l *layout) cut(room int) cut {
	s := l.source()
	c := s.whole()
	if whole := l.fold(c).String(); s.format.fits(whole, room) {
		return c
	}
	// The text is cut before it is folded: folded text has other bytes than
	// the stream.
	return s.fit(room)
}

// write puts a text and the notes into the report, and returns the result.
func (l *layout) write(c cut, notes []string) string {
	r := l.draft
	c = l.fold(c)
	text := withoutNULs(c.String())
	for i := range c.highlights {
		c.highlights[i].Text = withoutNULs(c.highlights[i].Text)
	}
	r.Output, r.Truncated, r.Highlights, r.Notes, r.LogPath = &text, c.told, c.highlights, notes, l.log
	r.Shows = l.shows(c)
	r.Folded, r.Shown = c.folded, max(c.mayShow, len(c.highlights))
	if c.told != nil {
		r.LogPath = r.Out.Process.LogPath
	}
	if r.Unknown {
		told := headtail.Truncation{Strategy: "head_tail"}
		if c.told != nil {
			told = *c.told
		}
		told.Unknown = true
		r.Truncated = &told
	}
	return l.writer.Format.render(r.Report)
}

// shows returns the parts of the stream that a text shows, as far as they are known.
func (l *layout) shows(c cut) (spans []Span) {
	r := l.draft
	if r.Screen != nil || c.told != nil && !c.known() {
		return nil
	}
	at := min(r.From, r.Out.Next)
	for _, m := range append(slices.Clone(c.missing), headtail.Cut{From: r.Out.Next, To: r.Out.Next}) {
		if m.From = min(m.From, r.Out.Next); m.From > at {
			spans = append(spans, Span{From: at, To: m.From})
		}
		at = max(at, m.To)
	}
	return spans
}

// cutNotes returns the notes of a report whose text is cut: where the rest is,
// and how to read more, each once.
func (l *layout) cutNotes(c cut, binary bool) []string {
	r, w := l.draft, l.writer
	p := r.Out.Process
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	log := "log_path"
	if w.Format == FormatText {
		log = wording.Odd(p.LogPath)
	}
	switch {
	case binary:
		add("binary, %s bytes: write it to a file, or look with xxd", wording.Grouped(c.told.OriginalBytes))
		return append(notes, l.notes...)
	case p.LogPath != "" && p.LogError != "":
		add("only the beginning of it is in %s (%s); search that with %s FILE", log, wording.Clip(p.LogError, wording.MaxWords), search(c.told))
	case p.LogPath != "":
		add("all of it is in %s; search it with %s FILE", log, search(c.told))
	case p.LogError != "" && c.told.RetainedBytes > 0:
		add("without a log (%s), the middle of a long output is not kept", wording.Clip(p.LogError, wording.MaxWords))
	case c.told.RetainedBytes == 0 && p.ID != "" && p.State == procmgr.Exited:
		add("The output is no longer kept.")
		return append(notes, l.notes...)
	default:
		add("without a log, the middle of a long output is not kept; the host's LogDir would keep it, and show here what looks like trouble in it")
	}
	if c.unscanned > 0 {
		add(unscannedNote, wording.Grouped(c.unscanned))
	}
	if p.ID != "" && c.known() {
		more := ""
		if !r.Budget.most {
			more = `, and a larger max_output shows more`
		}
		add(`%s {"process_id":%q,"since":%d} reads on%s; do not run the command again for that`, w.OutputTool, p.ID, r.From+c.begun, more)
	}
	return append(notes, l.notes...)
}

// search returns the command that finds something in a log. If lines were too
// long for the result, it prints a match and its offset, and not the whole
// line. It does not print text before the match, because that costs grep
// minutes on such a line. Without -a, one byte that is not text keeps grep from
// printing anything.
func search(t *headtail.Truncation) string {
	if t.TruncatedLines > 0 {
		return `grep -n -a -b -o 'PATTERN.\{0,200\}'`
	}
	return "grep -n -a PATTERN"
}

// isBinary reports whether a text is mostly one that a terminal could not show.
func isBinary(text string) bool {
	bad, invalid := 0, 0
	for _, r := range text {
		switch {
		case r == '\uFFFD':
			invalid++
		case r < ' ' && r != '\n' && r != '\t' && r != '\r', r == '\x7f':
			bad++
		}
	}
	bytes := len(text) - 2*invalid // U+FFFD stands for one byte of the stream
	return len(text) > maxBinary && (bad+invalid)*100 > bytes*binaryPart
}
