package prochttp

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/xerrors"
)

// text reads a string. It is valid until the next one is read.
func (d *decoder) text() ([]byte, error) {
	if d.next() != '"' {
		return nil, wanted("a string")
	}
	d.at++
	began := d.at
	text := d.plain()
	if d.at < len(d.data) && d.data[d.at] == '\\' {
		d.scratch = append(slices.Grow(d.scratch[:0], min(len(d.data)-began, allAtOnce)), text...)
		for d.at < len(d.data) && d.data[d.at] == '\\' {
			if err := d.escape(); err != nil {
				return nil, err
			}
			d.scratch = append(d.scratch, d.plain()...)
		}
		text = d.scratch
	}
	switch {
	case d.at >= len(d.data) || d.data[d.at] != '"':
		return nil, errSyntax
	case utf8.Valid(text):
	case d.strict:
		return nil, xerrors.New("it is not UTF-8")
	default:
		text = []byte(string([]rune(string(text)))) // each byte becomes U+FFFD, as in encoding/json
	}
	d.at++
	return text, nil
}

// plain reads the bytes of a string that stand for themselves.
func (d *decoder) plain() []byte {
	rest := d.data[d.at:]
	n := 0
	for n < len(rest) && rest[n] >= ' ' && rest[n] != '"' && rest[n] != '\\' {
		n++
	}
	d.at += n
	return rest[:n]
}

// escape adds to scratch what an escape stands for. Half of a character is
// refused, because some languages write it for bytes that are not UTF-8.
func (d *decoder) escape() error {
	if unit := d.unit(); unit >= 0 {
		d.at += unitLen
		if utf16.IsSurrogate(unit) {
			if unit = utf16.DecodeRune(unit, d.unit()); unit != utf8.RuneError {
				d.at += unitLen
			} else if d.strict {
				return xerrors.New("it has half of a surrogate pair")
			}
		}
		d.scratch = utf8.AppendRune(d.scratch, unit)
		return nil
	}
	i := -1
	if d.at+1 < len(d.data) {
		i = strings.IndexByte(`"\/bfnrt`, d.data[d.at+1])
	}
	if i < 0 {
		return errSyntax
	}
	d.scratch = append(d.scratch, "\"\\/\b\f\n\r\t"[i])
	d.at += len(`\n`)
	return nil
}

// unitLen is the length of an escape of a code unit.
const unitLen = len(`\u0000`)

// unit returns the code unit whose escape is next, or -1.
func (d *decoder) unit() rune {
	if d.at+unitLen > len(d.data) || d.data[d.at] != '\\' || d.data[d.at+1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(d.data[d.at+2:d.at+unitLen]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
