package toolset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
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
	// maxWider is how often the text may get the room that highlights do not use,
	// and maxAsks how often a manager is asked until it has searched all.
	maxWider = 2
	maxAsks  = 4
	// searchLimit is how long a search for highlights may take.
	searchLimit = 5 * time.Second
	// maxHighlightLine is more than a line of a highlight has.
	maxHighlightLine = 304
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
// the whole result; room is that of the text. If the size grows, neither the text
// nor what is shown of the highlights shrinks.
func (l *layout) highlight(c cut, size, room int) cut {
	r := l.draft
	if r.Find == nil || r.Out.Process.LogPath == "" || l.ctx.Err() != nil {
		return c
	}
	most := min(size/highlightPart, maxHighlights)
	narrow := l.cut(room - most)
	all := l.put(&narrow, most)
	used := l.writer.Format.cost(narrow.middle) + narrow.unscannedRoom()
	switch {
	case used == 0:
		return c
	case narrow.middle == "":
		c = l.cut(room - used)
		c.unscanned = narrow.unscanned
		return c
	}
	// The text gets the room that is left. Then there may be other highlights.
	for range maxWider {
		if !all || narrow.told.OmittedBytes > maxTwice {
			break
		}
		wide := l.cut(room - used)
		all = l.put(&wide, most)
		need := l.writer.Format.cost(wide.middle) + wide.unscannedRoom()
		if all && need <= used {
			return wide
		}
		used = need
	}
	return narrow
}

// unscannedRoom returns how many bytes of a result the note takes that not all
// was searched, if there is one. Its number is known only after the search.
func (c cut) unscannedRoom() int {
	if c.unscanned == 0 {
		return 0
	}
	return len(fmt.Sprintf(unscannedNote, wording.Grouped(c.unscanned))) + len("\nnote: ")
}

// put finds the highlights of what a text leaves out, and puts as many of them
// into it as take at most so many bytes of a result. It reports whether these are
// all.
func (l *layout) put(c *cut, most int) (all bool) {
	found, all := l.found(c, most)
	return c.put(l.writer.Format, found, most-c.unscannedRoom()) && all
}

// found returns the highlights of what a text leaves out, in the order of rank,
// and whether the manager had room for more. It notes how much was not searched.
func (l *layout) found(c *cut, most int) (found []procmgr.Highlight, all bool) {
	r := l.draft
	ctx, cancel := context.WithTimeout(l.ctx, searchLimit)
	defer cancel()
	req := procmgr.OutputRequest{From: r.From, Highlight: most}
	req.Limit.Line = l.writer.Limit.Line
	// The manager searches what its own text leaves out. It counts the bytes of
	// plain text and shares them alike between beginning and end. No line may be
	// in that text that c leaves out.
	limit := 2*min(len(c.begin), len(c.end)) + len(c.gap)
	var out procmgr.Output
	for range maxAsks {
		req.Limit.Bytes = max(limit, 1)
		var err error
		if out, err = r.Find(ctx, req); err != nil {
			return nil, false // the text is as good as without them
		}
		if c.omittedBy(out.Truncated) {
			break
		}
		limit -= limit / 4
	}
	c.unscanned = out.Unscanned
	for _, h := range out.Highlights {
		most -= len(h.Text)
		// If the beginning of the line is left out of the highlight, nobody
		// knows the offset of what is not.
		if strings.HasPrefix(h.Text, "…") || !c.shows(h.Offset, len(h.Text)) {
			found = append(found, h)
		}
	}
	return found, most > maxHighlightLine
}

// omittedBy reports whether a manager's text leaves out all that c does, as far as
// that is known.
func (c cut) omittedBy(t *headtail.Truncation) bool {
	if t == nil || len(t.Cuts) == 0 {
		return t != nil || !c.known()
	}
	for _, m := range c.missing {
		for _, o := range t.Cuts {
			if o.From <= m.From && m.From < o.To {
				m.From = o.To
			}
		}
		if m.From < m.To {
			return false
		}
	}
	return true
}

// put writes as many highlights as fit into room bytes of a result between the
// beginning and the end of the text. They are given in the order of rank. It ends
// with the first line that does not fit, and reports whether all of them did.
func (c *cut) put(f Format, found []procmgr.Highlight, room int) (all bool) {
	room -= f.cost(highlightsBegin + highlightsEnd)
	texts, spelled := make([][]string, len(found)), make([][]string, len(found))
	for i, h := range found {
		texts[i] = strings.Split(h.Text, "\n")
		spelled[i] = spellHighlight(h, texts[i])
	}
	shown := make([]int, len(found)) // how many lines of each
	all = true
	for i := range found {
		for line := 0; all && line < len(texts[i]); line++ {
			cost := f.cost(spelled[i][line])
			if all = cost <= room; all {
				room -= cost
				shown[i]++
			}
		}
	}

	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(found[a].Offset, found[b].Offset) })
	c.middle, c.highlights = "", nil
	for _, i := range order {
		if shown[i] == 0 {
			continue
		}
		h := found[i]
		h.Text = strings.Join(texts[i][:shown[i]], "\n")
		c.highlights = append(c.highlights, h)
		c.middle += strings.Join(spelled[i][:shown[i]], "")
	}
	if c.middle != "" {
		c.middle = highlightsBegin + c.middle + highlightsEnd
	}
	return all
}

// spellHighlight writes the lines of a highlight with their numbers, or with its
// offset if its number is not known.
func spellHighlight(h procmgr.Highlight, texts []string) (lines []string) {
	for i, line := range texts {
		before := "  "
		switch {
		case h.Line > 0:
			before = strconv.Itoa(h.Line+i) + ": "
		case i == 0:
			before = "byte " + strconv.FormatInt(h.Offset, 10) + ": "
		}
		if i == 0 && h.Count > 0 {
			line += " ... [" + strconv.Itoa(h.Count) + " more like it]"
		}
		lines = append(lines, before+line+"\n")
	}
	return lines
}
