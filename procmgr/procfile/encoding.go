package procfile

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// marks are the byte order marks, the longest first.
var marks = []struct {
	encoding Encoding
	mark     string
}{
	{UTF8BOM, "\xef\xbb\xbf"},
	{UTF16LE, "\xff\xfe"},
	{UTF16BE, "\xfe\xff"},
}

// encodingOf returns the encoding of a file by its first bytes.
func encodingOf(head []byte) Encoding {
	for _, m := range marks {
		if bytes.HasPrefix(head, []byte(m.mark)) {
			return m.encoding
		}
	}
	return UTF8
}

// mark returns the byte order mark of an encoding.
func (e Encoding) mark() string {
	for _, m := range marks {
		if m.encoding == e {
			return m.mark
		}
	}
	return ""
}

// A byteOrder reads and writes the two bytes of a character.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// wide returns the byte order of an encoding of two bytes.
func (e Encoding) wide() (byteOrder, bool) {
	switch e {
	case UTF16LE:
		return binary.LittleEndian, true
	case UTF16BE:
		return binary.BigEndian, true
	}
	return nil, false
}

// decode returns the text of a file without its mark. Bytes that are no valid UTF-8
// stay. ok is false if encode would not make the same file of the text.
func (e Encoding) decode(data []byte) (text string, ok bool) {
	order, wide := e.wide()
	rest := data[len(e.mark()):]
	if !wide {
		return string(rest), true
	}
	b := wideText(nil, rest, order, true)
	return string(b), bytes.Equal(e.encode(string(b)), data)
}

// encode returns the file with a text.
func (e Encoding) encode(text string) []byte {
	order, wide := e.wide()
	if !wide {
		return append([]byte(e.mark()), text...)
	}
	data := append(make([]byte, 0, 2*len(text)+2), e.mark()...)
	for _, r := range text {
		if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			data = order.AppendUint16(order.AppendUint16(data, uint16(r1)), uint16(r2))
		} else {
			data = order.AppendUint16(data, uint16(r))
		}
	}
	return data
}

// wideText appends the text of UTF-16 as UTF-8. If it is not the end, a half of a
// pair at its end must not be there.
func wideText(to, data []byte, order byteOrder, end bool) []byte {
	for len(data) >= 2 {
		r := rune(order.Uint16(data))
		data = data[2:]
		if utf16.IsSurrogate(r) {
			next := rune(utf8.RuneError)
			if len(data) >= 2 {
				next = rune(order.Uint16(data))
			}
			if r = utf16.DecodeRune(r, next); r != utf8.RuneError {
				data = data[2:]
			}
		}
		to = utf8.AppendRune(to, r)
	}
	if end && len(data) > 0 {
		to = utf8.AppendRune(to, utf8.RuneError)
	}
	return to
}

// A wideReader reads UTF-16 as UTF-8.
type wideReader struct {
	from  io.Reader
	order byteOrder
	raw   []byte // what was read and is not decoded yet
	text  []byte // what is decoded and not returned yet
	err   error
}

// Read implements [io.Reader].
func (w *wideReader) Read(p []byte) (int, error) {
	for len(w.text) == 0 {
		if w.err != nil {
			return 0, w.err
		}
		buf := make([]byte, 32<<10)
		n, err := w.from.Read(buf)
		w.raw = append(w.raw, buf[:n]...)
		w.err = err
		whole := len(w.raw)
		if err == nil {
			whole &^= 1
			if whole >= 2 && w.order.Uint16(w.raw[whole-2:])&0xfc00 == 0xd800 {
				whole -= 2 // the second half of the pair is to come
			}
		}
		w.text = wideText(w.text[:0], w.raw[:whole], w.order, err != nil)
		w.raw = append(w.raw[:0], w.raw[whole:]...)
	}
	n := copy(p, w.text)
	w.text = w.text[n:]
	return n, nil
}
