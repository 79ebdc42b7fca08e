package toolset

import (
	"strconv"
	"strings"
)

// minRepeats is the shortest run of identical lines that is folded. Two or
// three of them are read faster than a count.
const minRepeats = 4

// What stands for the lines that are left out, around their number. It is
// written like the markers of package headtail.
const (
	repeatOpen  = "... ["
	repeatLine  = "the line above "
	repeatTimes = " times more"
	repeatEmpty = " empty lines more"
	repeatClose = "] ...\n"
)

// How package headtail begins its markers. A line with the second misses its
// middle, so that two of them may look alike and not have been.
const (
	gapMarker  = "\n\n... [omitted "
	lineMarker = " ... [omitted "
)

// fold returns a text with each run of identical lines as one line and a
// count of the others. cut says that the text misses its middle: the lines that
// the cut went through are not counted with others, since nobody knows what
// they were. A last line without an end is as it is.
func fold(text string, cut bool) string {
	if !cut {
		return foldLines(text)
	}
	before, after, ok := strings.Cut(text, gapMarker)
	if !ok {
		return foldLines(text)
	}
	// The marker's own three lines, and what is left of the line behind it.
	rest := after
	for range 3 {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	begin, end := foldLines(before), foldLines(rest)
	if len(begin) == len(before) && len(end) == len(rest) {
		return text
	}
	return begin + text[len(before):len(text)-len(rest)] + end
}

// foldLines is fold for a text that goes on without a gap. What is folded is
// always shorter, so that an equal length means that nothing was.
func foldLines(text string) string {
	var b strings.Builder
	done := 0 // b has all before this offset
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
			}
		}
		at = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// appendRepeat appends what stands for a line that comes more times.
func appendRepeat(b []byte, line string, more int) []byte {
	b = append(b, repeatOpen...)
	if line == "\n" { // no line to point at
		b = strconv.AppendInt(b, int64(more), 10)
		b = append(b, repeatEmpty...)
		return append(b, repeatClose...)
	}
	b = append(b, repeatLine...)
	b = strconv.AppendInt(b, int64(more), 10)
	b = append(b, repeatTimes...)
	return append(b, repeatClose...)
}
