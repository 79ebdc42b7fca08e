package page

import (
	"strconv"
	"strings"
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
