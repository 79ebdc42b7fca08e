package toolset

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
)

// minRepeats is the shortest run of identical lines that is folded. Two or
// three lines are quicker to read than a count.
const minRepeats = 4

// The parts of the marker that replaces lines, around their number. They look
// like the markers of package headtail.
const (
	repeatOpen  = "... ["
	repeatLine  = "the line above "
	repeatTimes = " times more"
	repeatEmpty = " empty lines more"
	repeatClose = "] ...\n"
)

// The beginnings of the markers of package headtail. A line with lineMarker
// misses its middle. Two such lines may look alike although they differed.
const (
	gapMarker  = "\n\n... [omitted "
	lineMarker = " ... [omitted "
)

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
		more := (end - at - size) / size
		if more+1 >= minRepeats && !strings.Contains(line, lineMarker) {
			var room [64]byte
			if marker := appendRepeat(room[:0], line, more); len(marker) < more*size {
				b.WriteString(text[done : at+size])
				b.Write(marker)
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

// appendRepeat appends the marker that replaces more copies of a line.
func appendRepeat(b []byte, line string, more int) []byte {
	b = append(b, repeatOpen...)
	if line == "\n" { // "the line above" would be empty
		b = strconv.AppendInt(b, int64(more), 10)
		b = append(b, repeatEmpty...)
		return append(b, repeatClose...)
	}
	b = append(b, repeatLine...)
	b = strconv.AppendInt(b, int64(more), 10)
	b = append(b, repeatTimes...)
	return append(b, repeatClose...)
}

// A result shows a NUL as U+2400, because databases refuse a text with a NUL, and a
// model would not see it.
const (
	nul      = "\x00"
	nulShown = "␀"
)

// withoutNULs returns a text as a result shows it.
func withoutNULs(text string) string { return strings.ReplaceAll(text, nul, nulShown) }

// unprintable returns a note for each kind of byte that a result shows as something
// else: without it, a model takes what is shown for what was printed.
func (l *layout) unprintable() (notes []string) {
	text := l.draft.Out.Text
	if l.draft.Screen != nil || isBinary(text) {
		return nil // of a screen no bytes are known, and a binary has its own note
	}
	if n := l.source().invalid; n > 0 {
		is, each := "is", "shown"
		if n > 1 {
			is, each = "are", "each shown"
		}
		notes = append(notes, fmt.Sprintf("%s %s not UTF-8, %s as U+FFFD", wording.Counted(n, "byte", "bytes"), is, each))
	}
	if strings.Contains(text, nul) {
		notes = append(notes, nulShown+" stands for a NUL byte")
	}
	return notes
}
