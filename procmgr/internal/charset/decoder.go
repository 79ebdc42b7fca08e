// Package charset turns the output of programs that print no UTF-8 into UTF-8, as
// it streams: programs of Windows print UTF-16, or the code page of their console.
// It knows nothing of processes.
package charset

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// A Decoder decides line by line, since each program of a command may print in
// another way:
//
//   - A line that begins with a byte order mark, or with two characters of ASCII in
//     UTF-16LE, is UTF-16LE. So are the lines after it, up to one that has no NUL.
//   - Another line that is UTF-8 stays as it is.
//   - Another line is in the encoding of the Decoder.
//
// If a line comes in pieces, a piece that was UTF-8 has been passed on already, and
// so has a single character of ASCII, since it may be a prompt.
//
// A Decoder is for one goroutine.
type Decoder struct {
	encoding encoding.Encoding // of a line that is not UTF-8; nil leaves such lines
	text     []byte

	held   []byte // the beginning of a character
	inside bool   // of a line; else at its beginning
	utf16  bool   // this line is UTF-16LE, or the last one was
	other  bool   // this line is not UTF-8
}

// New returns a Decoder. Lines that are not UTF-8 are in the encoding other; nil
// leaves them as they are.
func New(other encoding.Encoding) *Decoder { return &Decoder{encoding: other} }

// Write takes the next bytes, and returns their text. Part of a character is held
// back, for the next call or for End. The text is p itself if it needs no change;
// else the next call overwrites it.
func (d *Decoder) Write(p []byte) []byte {
	if len(d.held) == 0 && !d.utf16 && !d.other && !isWide(p) && utf8.Valid(p) && bytes.IndexByte(p, 0) < 0 {
		d.inside = len(p) > 0 && p[len(p)-1] != '\n' || len(p) == 0 && d.inside
		return p
	}
	return d.decode(p, false)
}

// End returns the text of what is held back. No Write may follow.
func (d *Decoder) End() []byte { return d.decode(nil, true) }

// decode appends the text of all lines of held and p. Every step takes a part of
// them, or holds back the rest.
func (d *Decoder) decode(p []byte, end bool) []byte {
	d.text = d.text[:0]
	rest := slices.Concat(d.held, p)
	d.held = nil
	for len(rest) > 0 {
		if !d.inside {
			if !end && (mayBeWide(rest) || d.utf16 && len(rest) == 1) {
				break
			}
			d.begin(rest)
		}
		before := len(rest)
		if d.utf16 {
			rest = d.wide(rest, end)
		} else {
			rest = d.narrow(rest, end)
		}
		if len(rest) == before {
			break
		}
	}
	d.held = slices.Clone(rest)
	return d.text
}

var mark = []byte{0xff, 0xfe} // the byte order mark of UTF-16LE

// isWide reports whether a line that begins with p is UTF-16LE.
func isWide(p []byte) bool {
	return bytes.HasPrefix(p, mark) || len(p) >= 4 && isASCII(p[0]) && p[1] == 0 && isASCII(p[2]) && p[3] == 0
}

// mayBeWide reports whether the next bytes decide whether a line that begins with p
// is UTF-16LE.
func mayBeWide(p []byte) bool {
	switch len(p) {
	case 1:
		return p[0] == mark[0]
	case 2:
		return isASCII(p[0]) && p[1] == 0
	case 3:
		return isASCII(p[0]) && p[1] == 0 && isASCII(p[2])
	}
	return false
}

func isASCII(c byte) bool { return ' ' <= c && c <= '~' || c == '\t' || c == '\r' || c == '\n' }

// begin decides what a line is.
func (d *Decoder) begin(rest []byte) {
	d.other = false
	if isWide(rest) {
		d.utf16 = true
		return
	}
	line, after := cutLine(rest)
	hasNUL := bytes.IndexByte(line, 0) >= 0 || len(after) > 0 && after[0] == 0
	ended := line[len(line)-1] == '\n'
	d.utf16 = d.utf16 && (hasNUL || !ended && !utf8.Valid(line))
}

// cutLine returns the first line of p with its end, and what follows.
func cutLine(p []byte) (line, after []byte) {
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		return p[:i+1], p[i+1:]
	}
	return p, nil
}

var wide = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)

// wide appends the rest of a line of UTF-16LE, and returns what follows it, or a part
// of a character.
func (d *Decoder) wide(p []byte, end bool) []byte {
	if !d.inside {
		p = bytes.TrimPrefix(p, mark)
	}
	line, ended := len(p), false
	for i := 0; i+1 < len(p) && !ended; i += 2 {
		if p[i] == '\n' && p[i+1] == 0 {
			line, ended = i+2, true
		}
	}
	d.inside = !ended
	return p[d.decodeAs(wide, p[:line], ended || end):]
}

// narrow appends the rest of a line of bytes, and returns what follows it, or a part
// of a character.
func (d *Decoder) narrow(p []byte, end bool) []byte {
	line, after := cutLine(p)
	cut := len(line) // where a character is not whole
	if len(after) == 0 && !end {
		cut -= unfinished(line)
	}
	d.other = d.other || d.encoding != nil && !utf8.Valid(line[:cut])
	if !d.other {
		d.text = append(d.text, line[:cut]...)
	} else {
		cut = d.decodeAs(d.encoding, line, end || line[len(line)-1] == '\n')
	}
	if cut > 0 {
		d.inside = line[cut-1] != '\n'
		d.other = d.other && d.inside
	}
	return p[cut:]
}

// unfinished returns the length of the part of a character at the end of p.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			break
		}
	}
	return 0
}

// decodeAs appends a line, and returns how many of its bytes that are.
func (d *Decoder) decodeAs(e encoding.Encoding, line []byte, whole bool) int {
	decoder := e.NewDecoder()
	taken := 0
	for {
		d.text = slices.Grow(d.text, 4*utf8.UTFMax)
		room := d.text[len(d.text):cap(d.text)]
		made, n, err := decoder.Transform(room, line[taken:], whole)
		d.text = d.text[:len(d.text)+made]
		taken += n
		if err != transform.ErrShortDst { //nolint:errorlint // transform returns it as it is
			return taken
		}
	}
}
