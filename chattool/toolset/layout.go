package toolset

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// defaultTokens is how much of its context a model spends on a result
	// unless it asks for more or less.
	defaultTokens = 8000
	// tokenBytes is how many bytes count as a token: the output of tools has 2.3
	// to 2.7 bytes in a token of o200k_base, so a result stays below its budget.
	tokenBytes = 2
	// besideOutput is the room for the facts and notes of a result whose output is
	// cut. If they take less, the result is a little shorter than it may be.
	besideOutput = 400
	// highlightPart is the part of a budget that highlights may take: one of
	// so many. maxHighlights is the most, in bytes of text.
	highlightPart = 3
	maxHighlights = 8 << 10
	// maxReads is how often the manager is asked for a shorter output before a
	// result has its end alone.
	maxReads = 4
	// binaryPart is how much of an output may be controls or invalid bytes, in
	// percent. An output with more is not worth reading. maxBinary is how many
	// bytes of such an output a result shows.
	binaryPart = 30
	maxBinary  = 512
)

// A budget is what a result may take.
type budget struct {
	bytes int
	most  bool // Options.Limit allows no more
}

// allow returns the budget of a call that asks for a number of tokens; 0 is the
// default. The note says that it got fewer, or is "".
func (k *kit) allow(want int) (b budget, note string) {
	most := max(k.opts.Limit.Bytes/tokenBytes, 1)
	if want > most {
		note = fmt.Sprintf("max_output was cut from %d to the most allowed, %d.", want, most)
	}
	tokens := min(cmp.Or(want, defaultTokens), most)
	return budget{tokens * tokenBytes, tokens == most}, note
}

// outputLimits returns how much output to ask a manager for, and how much of that for
// highlights, so that most results need no second request. The output of most tools
// is some percent longer in JSON.
func (k *kit) outputLimits(b budget) (limit headtail.Limits, highlight int) {
	room := b.bytes - min(besideOutput, b.bytes/2)
	if k.opts.Format == FormatJSON {
		room -= room / 20
	}
	return headtail.Limits{Bytes: max(room, 1), Line: k.opts.Limit.Line}, min(b.bytes/highlightPart, maxHighlights)
}

// write lays out the output of a report within its budget, and returns the text of the
// result.
func (k *kit) write(r *report) string {
	if r.Reads {
		if r.Budget.bytes == 0 {
			r.Budget, _ = k.allow(0)
		}
		plain := r.Report
		r.unprintable = r.replaced()
		k.lay(r, slices.Concat(plain.Notes, r.unprintable))
		if r.Again != nil {
			if short, ok := k.again(r, plain); ok {
				r.Report = short
			}
		}
	}
	return k.opts.Format.render(r.Report)
}

// lay puts the output into a report so that the result takes at most its budget. If the
// facts and notes take more than half of that, the output gets the other half all the
// same. Only the manager cuts the output: if its answer does not fit, it is asked for a
// shorter one.
func (k *kit) lay(r *report, notes []string) {
	size := r.Budget.bytes
	limit, highlight := k.outputLimits(r.Budget)
	binary, log := isBinary(r.Out.Text), r.LogPath
	if long := r.Out.Truncated != nil || 2*len(r.Out.Text) > limit.Bytes; long && advice.PrintsFiles(&script.Source{Text: r.Out.Process.Command}) {
		highlight = 0 // the lines of files tell of no trouble of the command
	}
	for reads := 0; ; reads++ {
		text := k.arrange(r, highlight)
		k.put(r, text, log, k.cutNotes(r, notes, binary))
		cost := k.opts.Format.cost(text.String())
		room := max(size-(len(k.opts.Format.render(r.Report))-cost), size/2)
		if r.Out.Truncated == nil && cost > room {
			room -= min(besideOutput, room/2) // for the notes on what is cut
		}
		if binary {
			room = min(room, maxBinary)
		}
		if cost <= room {
			return
		}
		has := len(r.Out.Text)
		for _, h := range text.highlights {
			has += len(h.Text)
		}
		// A little less, because the part that stays may cost more than the rest.
		limit.Bytes = max(int(float64(has)*float64(room)/float64(cost)*0.98), 1)
		if reads == maxReads || !r.readAgain(limit, highlight) {
			r.keepEnd(room)
			k.put(r, k.arrange(r, 0), log, k.cutNotes(r, notes, binary))
			return
		}
	}
}

// readAgain asks for a shorter output, and reports whether there is one.
func (r *report) readAgain(limit headtail.Limits, highlight int) bool {
	if r.Read == nil || r.Screen != nil {
		return false
	}
	now, err := r.Read(procmgr.OutputRequest{From: r.From, Limit: limit, Highlight: highlight})
	if err != nil || now.Text == "" {
		return false
	}
	out := *r.Out
	out.Text, out.Truncated, out.Next, out.Live = now.Text, now.Truncated, now.Next, now.Live
	out.Highlights, out.Redacted = now.Highlights, now.Redacted
	if r.Out = &out; r.NextOffset != nil {
		r.NextOffset = &out.Next
	}
	return true
}

// keepEnd leaves the end of the output alone, which surely takes at most room bytes of
// a result: the manager answers no more, or ignores the limit.
func (r *report) keepEnd(room int) {
	out := *r.Out
	at := max(len(out.Text)-room/wording.MaxCost, 0)
	for at < len(out.Text) && !utf8.RuneStart(out.Text[at]) {
		at++
	}
	if _, last := utf8.DecodeLastRuneInString(out.Text); at == len(out.Text) {
		at -= last
	}
	if at == 0 && out.Truncated == nil {
		return // one rune is all there is
	}
	told := headtail.Truncation{OriginalBytes: int64(len(out.Text)), Strategy: "head_tail"}
	if out.Truncated != nil {
		told.OriginalBytes, told.Unknown = out.Truncated.OriginalBytes, out.Truncated.Unknown
	}
	out.Text, out.Highlights = out.Text[at:], nil
	told.RetainedBytes = min(int64(len(out.Text)), told.OriginalBytes)
	told.OmittedBytes = told.OriginalBytes - told.RetainedBytes
	out.Truncated = &told
	r.Out = &out
}

// An excerpt is an output as a result shows it: repeated lines are folded, and
// the highlights of what is missing stand behind the marker of the gap.
type excerpt struct {
	begin, middle, end string
	highlights         []procmgr.Highlight // that middle has
	folded             int                 // runs of lines
}

func (a excerpt) String() string { return a.begin + a.middle + a.end }

// arrange arranges the output of a report, with highlights of at most so many bytes of a
// result.
func (k *kit) arrange(r *report, highlight int) (a excerpt) {
	text := r.Out.Text
	gap := gapOf(r.cuts())
	after := gap.At + gap.Len
	first := after // where the first whole line behind the gap begins
	if gap.Len > 0 {
		first += strings.IndexByte(text[after:], '\n') + 1
	}
	begin, runs := foldLines(text[:gap.At])
	end, more := foldLines(text[first:])
	a = excerpt{begin: withoutNULs(begin) + text[gap.At:after], end: withoutNULs(text[after:first] + end), folded: runs + more}
	if r.Out.Truncated != nil && highlight > 0 {
		a.middle, a.highlights = k.opts.Format.spellHighlights(r.Out.Highlights, highlight)
	}
	return a
}

// cuts returns the parts of the stream that the output leaves out, in its order. It is
// empty if they are not known: a Truncation from another machine may say anything. The
// text is never searched for markers, because a program can print one.
func (r *report) cuts() []headtail.Cut {
	t := r.Out.Truncated
	if t == nil {
		return nil
	}
	at, from, sum, gaps := 0, int64(0), int64(0), 0
	for _, c := range t.Cuts {
		if c.At < at || c.Len < 0 || c.Len > len(r.Out.Text)-c.At || c.From < from || c.To <= c.From {
			return nil
		}
		at, from, sum = c.At+c.Len, c.To, sum+c.To-c.From
		if !c.Line {
			gaps++
		}
	}
	if gaps > 1 || sum != t.OmittedBytes {
		return nil
	}
	return t.Cuts
}

// gapOf returns the cut between two lines of a text. It is at 0 and has no marker if
// there is none, or if it is not known.
func gapOf(cuts []headtail.Cut) headtail.Cut {
	for _, c := range cuts {
		if !c.Line && c.Len > 0 {
			return c
		}
	}
	return headtail.Cut{}
}

// put puts a text and the notes into a report. log is its LogPath if nothing is cut.
func (k *kit) put(r *report, a excerpt, log string, notes []string) {
	text := a.String()
	r.Output, r.Truncated, r.Notes, r.LogPath = &text, nil, notes, log
	r.Highlights, r.Shown, r.Folded, r.Shows = a.highlights, len(a.highlights), a.folded, r.shows()
	if t := r.Out.Truncated; t != nil {
		told := *t
		told.Cuts = nil // they are about the text as the manager gave it
		if r.Truncated = &told; t.OmittedBytes > 0 {
			r.LogPath = r.Out.Process.LogPath
		}
	}
}

// shows returns the parts of the stream that the output shows, as far as they are known.
func (r *report) shows() (spans []Span) {
	cuts := r.cuts()
	if r.Screen != nil || r.Out.Truncated != nil && len(cuts) == 0 {
		return nil
	}
	at, next := min(r.From, r.Out.Next), r.Out.Next
	for _, c := range append(slices.Clone(cuts), headtail.Cut{From: next, To: next}) {
		if c.From = min(c.From, next); c.From > at {
			spans = append(spans, Span{From: at, To: c.From})
		}
		at = max(at, c.To)
	}
	return spans
}

// cutNotes puts before the notes of a report those on what is cut: where the rest is,
// and how to read more.
func (k *kit) cutNotes(r *report, notes []string, binary bool) []string {
	t, p := r.Out.Truncated, r.Out.Process
	if t == nil || t.OmittedBytes == 0 { // all is here, as far as it is known
		return notes
	}
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	log, search := "log_path", "grep -n -a PATTERN" // without -a, one byte that is not text keeps grep from printing anything
	if k.opts.Format == FormatText {
		log = wording.Odd(p.LogPath)
	}
	if t.TruncatedLines > 0 {
		// It prints a match and its offset, and not a line that is too long for a
		// result. Text before the match would cost grep minutes on such a line.
		search = `grep -n -a -b -o 'PATTERN.\{0,200\}'`
	}
	switch {
	case binary:
		add("binary, %s bytes: write it to a file, or look with xxd", wording.Grouped(t.OriginalBytes))
		return append(all, notes...)
	case p.LogPath != "" && p.LogError != "":
		add("only the beginning of it is in %s (%s); search that with %s FILE", log, wording.Clip(p.LogError, wording.MaxWords), search)
	case p.LogPath != "":
		add("all of it is in %s; search it with %s FILE", log, search)
	case p.LogError != "" && t.RetainedBytes > 0:
		add("without a log (%s), the middle of a long output is not kept", wording.Clip(p.LogError, wording.MaxWords))
	case t.RetainedBytes == 0 && p.ID != "" && p.State == procmgr.Exited:
		add("The output is no longer kept.")
		return append(all, notes...)
	default:
		add("without a log, the middle of a long output is not kept; the host's LogDir would keep it, and show here what looks like trouble in it")
	}
	if cuts := r.cuts(); p.ID != "" && len(cuts) > 0 {
		since, more := r.From, ""
		if gap := gapOf(cuts); gap.Len > 0 {
			since = gap.From
		}
		if !r.Budget.most {
			more = `, and a larger max_output shows more`
		}
		add(`%s {"process_id":%q,"since":%d} reads on%s; do not run the command again for that`, k.names.output, p.ID, since, more)
	}
	return append(all, notes...)
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

// spellHighlights writes highlights between the beginning and the end of a text, in the
// order of the stream. They are given in the order of rank: the first one is always
// shown, and others as long as all take at most room bytes of a result.
func (f Format) spellHighlights(found []procmgr.Highlight, room int) (text string, shown []procmgr.Highlight) {
	for _, h := range found {
		h.Text = withoutNULs(h.Text)
		if room -= f.cost(spellHighlight(h)); room < 0 && len(shown) > 0 {
			break
		}
		shown = append(shown, h)
	}
	if len(shown) == 0 {
		return "", nil
	}
	slices.SortStableFunc(shown, func(a, b procmgr.Highlight) int { return cmp.Compare(a.Offset, b.Offset) })
	for _, h := range shown {
		text += spellHighlight(h)
	}
	return "... [of these, by line] ...\n" + text + "... [the end] ...\n\n", shown
}

// spellHighlight writes the lines of a highlight with their numbers, or with its
// offset if its number is not known.
func spellHighlight(h procmgr.Highlight) string {
	var b strings.Builder
	for i, line := range strings.Split(h.Text, "\n") {
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
		b.WriteByte('\n')
	}
	return b.String()
}

// minRepeats is the shortest run of identical lines that is folded. Two or
// three lines are quicker to read than a count.
const minRepeats = 4

// lineMarker begins the marker of package headtail in a line that misses its middle.
// Two such lines may look alike although they differed.
const lineMarker = " ... [omitted "

// foldLines replaces each run of identical lines in a text without a gap by one
// line and a count of the others, and returns how many runs these are. A last
// line without a line end stays as it is. A folded text is always shorter.
func foldLines(text string) (folded string, runs int) {
	var b strings.Builder
	done := 0 // b has all the text before this offset
	for at := 0; at < len(text); {
		size := strings.IndexByte(text[at:], '\n') + 1
		if size == 0 {
			break
		}
		line, end := text[at:at+size], at+size
		for strings.HasPrefix(text[end:], line) {
			end += size
		}
		if more := (end - at - size) / size; more+1 >= minRepeats && !strings.Contains(line, lineMarker) {
			marker := "... [the line above " + strconv.Itoa(more) + " times more] ...\n"
			if line == "\n" { // "the line above" would be empty
				marker = "... [" + strconv.Itoa(more) + " empty lines more] ...\n"
			}
			if len(marker) < more*size {
				b.WriteString(text[done:at+size] + marker)
				done = end
				runs++
			}
		}
		at = end
	}
	if done == 0 {
		return text, 0
	}
	b.WriteString(text[done:])
	return b.String(), runs
}

// A result shows a NUL as U+2400, because databases refuse a text with a NUL, and a
// model would not see it.
const (
	nul      = "\x00"
	nulShown = "␀"
)

// withoutNULs returns a text as a result shows it.
func withoutNULs(text string) string { return strings.ReplaceAll(text, nul, nulShown) }

// replaced returns a note for each kind of byte that a result shows as something
// else: without it, a model takes what is shown for what was printed.
func (r *report) replaced() (notes []string) {
	text := r.Out.Text
	if r.Screen != nil || isBinary(text) {
		return nil // of a screen no bytes are known, and a binary has its own note
	}
	// An invalid byte of the stream is U+FFFD in the text, which has three.
	held, stream := len(text), r.Out.Next-r.From+int64(len(r.Out.Live))
	if t := r.Out.Truncated; t != nil {
		stream = t.RetainedBytes
	}
	for _, c := range r.cuts() {
		held -= c.Len
	}
	switch n := min((held-int(stream))/2, strings.Count(text, "\uFFFD")); {
	case n == 1:
		notes = append(notes, "1 byte is not UTF-8, shown as U+FFFD")
	case n > 1:
		notes = append(notes, strconv.Itoa(n)+" bytes are not UTF-8, each shown as U+FFFD")
	}
	if strings.Contains(text, nul) {
		notes = append(notes, nulShown+" stands for a NUL byte")
	}
	return notes
}
