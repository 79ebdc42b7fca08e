// Package charset turns the output of programs that print no UTF-8 into UTF-8, as
// it streams: programs of Windows print UTF-16, or the code page of their console.
// It knows nothing of processes.
package charset

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
)

// pageNames are the IANA's names of the code pages that are not named after IBM and their
// number.
var pageNames = map[uint32]string{858: "IBM00858", 874: "windows-874", 932: "Shift_JIS", 936: "GBK", 949: "EUC-KR", 950: "Big5"}

// CodePage returns the encoding of a code page of Windows, or nil if it is UTF-8
// (65001) or one that golang.org/x/text does not have (such as 737, Greek, and 857,
// Turkish).
func CodePage(number uint32) encoding.Encoding {
	name, ok := pageNames[number]
	switch {
	case !ok && number >= 1250:
		name = fmt.Sprint("windows-", number)
	case !ok:
		name = fmt.Sprint("IBM", number)
	}
	found, _ := ianaindex.IANA.Encoding(name) // nil if there is none
	return found
}

// A Decoder decides line by line, since each program of a command may print in
// another way:
//
//   - A line that begins with a byte order mark, or with two characters of ASCII in
//     UTF-16LE, is UTF-16LE. So are the lines after it, up to one that has no NUL.
//   - Another line that is UTF-8 stays as it is.
//   - Another line is in the encoding of the Decoder.
//
// A line that is not UTF-8 is held back until it ends. If it comes in pieces, a piece that
// was UTF-8 has been passed on already, and so has a single character of ASCII, since it
// may be a prompt.
//
// A Decoder is for one goroutine.
type Decoder struct {
	encoding encoding.Encoding // of a line that is not UTF-8; nil leaves such lines
	text     []byte

	held   []byte // the beginning of a line, or of a character
	inside bool   // a part of this line has been passed on
	utf16  bool   // the text before held was UTF-16LE
}

// maxHeld is from how many bytes on a line is decoded before it ends. Where it is cut, a
// character may be lost.
const maxHeld = 64 << 10

// New returns a Decoder. Lines that are not UTF-8 are in the encoding other; nil
// leaves them as they are.
func New(other encoding.Encoding) *Decoder { return &Decoder{encoding: other} }

// Write takes the next bytes, and returns their text without what is held back. The text
// is p itself if it needs no change; else the next call overwrites it.
func (d *Decoder) Write(p []byte) []byte {
	if len(d.held) == 0 && !d.utf16 && utf8.Valid(p) && bytes.IndexByte(p, 0) < 0 {
		d.inside = len(p) > 0 && p[len(p)-1] != '\n' || len(p) == 0 && d.inside
		return p
	}
	return d.decode(p, false)
}

// End returns the text of what is held back. No Write may follow.
func (d *Decoder) End() []byte { return d.decode(nil, true) }

// decode returns the text of held and p without what is held back.
func (d *Decoder) decode(p []byte, end bool) []byte {
	d.text = d.text[:0]
	d.held = append(d.held, p...)
	for len(d.held) > 0 {
		n, wide := d.next(end)
		if n == 0 {
			break
		}
		line := d.held[:n]
		switch {
		case wide:
			line, _ = utf16LE.NewDecoder().Bytes(bytes.TrimPrefix(line, mark)) // half a character becomes U+FFFD
		case d.encoding != nil && !utf8.Valid(line):
			line, _ = d.encoding.NewDecoder().Bytes(line)
		}
		d.text = append(d.text, line...)
		d.inside, d.utf16, d.held = !bytes.HasSuffix(line, []byte{'\n'}), wide, d.held[n:]
	}
	return d.text
}

var (
	mark    = []byte{0xff, 0xfe} // the byte order mark of UTF-16LE
	utf16LE = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
)

// next returns how much of held can be decoded, at most a line, and whether that is
// UTF-16LE. It returns 0 if the line has to go on.
func (d *Decoder) next(end bool) (n int, wide bool) {
	p, line := d.held, bytes.IndexByte(d.held, '\n')+1
	begins := line
	if line == 0 {
		begins = len(p)
	}
	wide = !d.inside && (bytes.HasPrefix(p, mark) || len(p) >= 4 && isASCII(p[0]) && p[1] == 0 && isASCII(p[2]) && p[3] == 0) ||
		d.utf16 && (d.inside || bytes.IndexByte(p[:min(begins+1, len(p))], 0) >= 0)
	undecided := !d.inside && (d.utf16 && begins == len(p) || len(p) < 4 && (p[0] == mark[0] || len(p) > 1 && p[1] == 0))
	all := 0 // of a line that has not ended
	if end {
		all = len(p)
	} else if len(p) >= maxHeld {
		all = len(p) &^ 1
	}
	if wide {
		for i := 0; i+1 < len(p); i += 2 {
			if p[i] == '\n' && p[i+1] == 0 {
				return i + 2, true
			}
		}
		return all, true
	}
	switch whole := len(p) - unfinished(p); {
	case line > 0 && (all > 0 || !undecided):
		return line, false
	case all == 0 && !undecided && (d.encoding == nil || utf8.Valid(p[:whole])):
		return whole, false
	}
	return all, false
}

func isASCII(c byte) bool { return ' ' <= c && c <= '~' || c == '\t' || c == '\r' || c == '\n' }

// unfinished returns the length of the part of a character at the end of p.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n:]; utf8.RuneStart(c[0]) && !utf8.FullRune(c) {
			return n
		}
	}
	return 0
}
