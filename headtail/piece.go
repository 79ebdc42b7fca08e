package headtail

import (
	"bytes"
	"unicode/utf8"
)

// A piece is a run of text. If its last line is cut in the middle, cut counts
// the bytes that are missing between this piece and the next.
type piece struct {
	text []byte
	cut  int64 // bytes of the stream; 0: nothing is missing before the next piece
}

func (p piece) size() int {
	n := len(p.text)
	if p.cut > 0 {
		n += lineMarker.size(p.cut)
	}
	return n
}

func sizeOf(ps []piece) int {
	n := 0
	for _, p := range ps {
		n += p.size()
	}
	return n
}

// cutLines appends b to ps, split into pieces: every line of more than limit
// bytes is cut in its middle. Each piece but the last has a cut, and no piece
// between two cuts is empty.
func cutLines(ps []piece, b []byte, limit int) []piece {
	start := 0 // start of the current line
	kept := 0  // start of the first piece that is not appended yet
	for len(b)-start > limit {
		// A line that ends within the next limit bytes is not too long. So the
		// loop skips to the last line end among them, and need not look at each
		// line.
		if i := bytes.LastIndexByte(b[start:start+limit+1], '\n'); i >= 0 {
			start += i + 1
			continue
		}
		end := len(b)
		if i := bytes.IndexByte(b[start+limit+1:], '\n'); i >= 0 {
			end = start + limit + 1 + i
		}
		room := limit - lineMarker.size(int64(end-start))
		i := floor(b, start+room/2)
		j := ceil(b, end-(room-(i-start)))
		ps = append(ps, piece{b[kept:i], streamLen(b[i:j])})
		kept, start = j, end+1
	}
	return append(ps, piece{text: b[kept:]})
}

// covers returns how many bytes of the stream the pieces stand for. The bytes that
// their line markers count are included.
func covers(ps []piece) (n int64) {
	for _, p := range ps {
		n += streamLen(p.text) + p.cut
	}
	return n
}

// takeFront returns as much of the beginning of ps as fits into room bytes: whole
// pieces, and the beginning of the next one, which has no marker.
func takeFront(ps []piece, room int) (whole []piece, edge piece) {
	slack := room / 4
	for i, p := range ps {
		if p.size() <= room {
			room -= p.size()
			continue
		}
		n := len(p.text)
		if n > room {
			n = lineEndBefore(p.text, floor(p.text, room), slack)
		}
		if n == 0 && i > 0 {
			i, n = i-1, len(ps[i-1].text)
		}
		return ps[:i], piece{text: ps[i].text[:n]}
	}
	return ps, piece{}
}

// takeBack returns as much of the end of ps as fits into room bytes: the end of a
// piece, which does not start with a marker, and the whole pieces after it.
func takeBack(ps []piece, room int) (edge piece, whole []piece) {
	slack := room / 4
	for i := len(ps) - 1; i >= 0; i-- {
		p := ps[i]
		if p.size() <= room {
			room -= p.size()
			continue
		}
		// Reading from the end, the piece's marker comes before its text.
		room = max(room-p.size()+len(p.text), 0)
		n := lineStartAfter(p.text, ceil(p.text, len(p.text)-room), slack)
		if n == len(p.text) {
			return piece{}, ps[i+1:]
		}
		return piece{p.text[n:], p.cut}, ps[i+1:]
	}
	return piece{}, ps
}

// lineEndBefore returns n, or the start of the line that b[:n] ends in, if that
// start is no more than slack bytes before n.
func lineEndBefore(b []byte, n, slack int) int {
	if n < len(b) && b[n] == '\n' {
		return n // the line is whole, and only its line feed is missing
	}
	from := max(n-slack-1, 0)
	if i := bytes.LastIndexByte(b[from:n], '\n'); i >= 0 {
		return from + i + 1
	}
	return n
}

// lineStartAfter returns n, or the start of the next line in b, if that start
// is no more than slack bytes after n.
func lineStartAfter(b []byte, n, slack int) int {
	if n > 0 && b[n-1] == '\n' {
		return n
	}
	if i := bytes.IndexByte(b[n:min(n+slack, len(b))], '\n'); i >= 0 {
		return n + i + 1
	}
	return n
}

// floor returns the last boundary between runes of b that is not after n.
func floor(b []byte, n int) int {
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// ceil returns the first boundary between runes of b that is not before n.
func ceil(b []byte, n int) int {
	for n < len(b) && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}
