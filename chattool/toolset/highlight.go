package toolset

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// highlightPart is the part of a budget that highlights may take: one of
	// so many.
	highlightPart = 3
	// maxHighlights is the most that they may take, in bytes of the result.
	maxHighlights = 8 << 10
	// maxTwice is how many bytes a text may leave out for a second search. It
	// gives the text the room that highlights have not used.
	maxTwice = 8 << 20
)

// The lines around the highlights, between the marker of the gap and the end of
// the text.
const (
	highlightsBegin = "... [of these, by line] ...\n"
	highlightsEnd   = "... [the end] ...\n\n"
)

// A finder reads the highlights of an output. It is nil if there are none to be
// had.
type finder func(ctx context.Context, req procmgr.OutputRequest) (procmgr.Output, error)

// highlight makes room for highlights in a text that is cut, and puts them
// between its beginning and its end. They take a part of size, which is that of
// the whole result; room is that of the text.
func (l *layout) highlight(c cut, size, room int) cut {
	r := l.report
	if r.find == nil || r.out.Process.LogPath == "" || l.ctx.Err() != nil {
		return c
	}
	most := min(size/highlightPart, maxHighlights)
	narrow := l.cut(room - most)
	found := l.found(narrow, most)
	narrow.put(l.set.opts.Format, found, most-l.unscannedRoom())
	used := l.set.opts.Format.cost(narrow.middle) + l.unscannedRoom()
	switch {
	case used == 0:
		return c
	case narrow.middle == "":
		return l.cut(room - used)
	case used > most*3/4 || narrow.told.OmittedBytes > maxTwice:
		return narrow
	}
	// The text gets the room that is left. Then there may be other highlights.
	wide := l.cut(room - used)
	found = l.found(wide, most)
	wide.put(l.set.opts.Format, found, used-l.unscannedRoom())
	return wide
}

// unscannedRoom returns how many bytes of a result the note takes that not all
// was searched, if there is one. Its number is known only after the search.
func (l *layout) unscannedRoom() int {
	if l.unscanned == 0 {
		return 0
	}
	return len(fmt.Sprintf(unscannedNote, grouped(l.unscanned))) + len("\nnote: ")
}

// found returns the highlights of what a text leaves out.
func (l *layout) found(c cut, most int) []procmgr.Highlight {
	r := l.report
	ctx, cancel := context.WithTimeout(l.ctx, snapshotLimit)
	defer cancel()
	out, err := r.find(ctx, procmgr.OutputRequest{
		From: r.from,
		// The same beginning and end as in c, as plain text.
		Limit:     headtail.Limits{Bytes: max(len(c.String()), 1), Line: l.set.opts.Limit.Line},
		Highlight: most * 4 / 5, // their numbers take the rest
	})
	if err != nil {
		return nil // the text is as good as without them
	}
	l.unscanned = out.Unscanned
	var found []procmgr.Highlight
	for _, h := range out.Highlights {
		first, _, _ := strings.Cut(h.Text, "\n")
		// If the beginning of the line is left out of the highlight, nobody
		// knows the offset of what is not.
		if strings.HasPrefix(first, "…") || !c.shows(h.Offset, len(strings.TrimSuffix(first, "…"))) {
			found = append(found, h)
		}
	}
	return found
}

// put writes as many highlights as fit into room bytes of a result between the
// beginning and the end of the text.
func (c *cut) put(f Format, found []procmgr.Highlight, room int) {
	var b strings.Builder
	room -= f.cost(highlightsBegin + highlightsEnd)
	c.middle, c.highlights = "", nil
	for _, h := range found {
		line := spellHighlight(h, h.Text)
		if f.cost(line) > room {
			first, _, _ := strings.Cut(h.Text, "\n")
			line = spellHighlight(h, first)
		}
		if f.cost(line) <= room {
			room -= f.cost(line)
			b.WriteString(line)
			c.highlights = append(c.highlights, h)
		}
	}
	if b.Len() > 0 {
		c.middle = highlightsBegin + b.String() + highlightsEnd
	}
}

// spellHighlight writes a highlight with the numbers of its lines, or with its offset
// if its number is not known.
func spellHighlight(h procmgr.Highlight, text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		switch {
		case h.Line > 0:
			b.WriteString(strconv.Itoa(h.Line+i) + ": ")
		case i == 0:
			b.WriteString("byte " + strconv.FormatInt(h.Offset, 10) + ": ")
		default:
			b.WriteString("  ")
		}
		b.WriteString(line)
		if i == 0 && h.Count > 0 {
			b.WriteString(" ... [" + strconv.Itoa(h.Count) + " more like it]")
		}
		b.WriteString("\n")
	}
	return b.String()
}
