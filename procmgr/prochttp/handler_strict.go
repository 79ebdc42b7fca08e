package prochttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// decodeStrict reads one JSON object and refuses whatever encoding/json would
// guess at: a command must not run otherwise than its caller wrote it. These are
// fields that v lacks, or that come twice or in other letters, and text that is
// no Unicode, which would be changed.
func decodeStrict(data []byte, v any) error {
	err := checkUnicode(data)
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err = dec.Decode(v); err == nil {
			if _, after := dec.Token(); !errors.Is(after, io.EOF) {
				err = xerrors.New("there is something after its end")
			}
		}
	}
	if err == nil {
		err = checkNames(data, reflect.TypeOf(v).Elem())
	}
	if err != nil {
		return xerrors.Errorf("the body is not the JSON object of this endpoint (%v): %w", err, procmgr.ErrInvalid)
	}
	return nil
}

// checkNames holds the names of an object's fields to those of a struct, letter
// by letter and each at most once, and so on in the objects within it. In a map
// of strings every name is right, once, and null is no string.
func checkNames(data []byte, t reflect.Type) error {
	isMap := t.Kind() == reflect.Map
	fields := make(map[string]reflect.Type)
	if !isMap {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			fields[name] = t.Field(i).Type
		}
	}
	seen := make(map[string]bool)
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return xerrors.New("it is no object")
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string)
		inner, known := fields[text]
		if seen[text] || !known && !isMap {
			return xerrors.Errorf("%.40q is there twice, or in other letters than it should be", text)
		}
		seen[text] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		switch isNull := string(value) == "null"; {
		case isNull && isMap:
			return xerrors.Errorf("%.40q is null", text)
		case !isNull && known && (inner.Kind() == reflect.Struct || inner.Kind() == reflect.Map):
			if err := checkNames(value, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkUnicode refuses what is not UTF-8, and escapes of half a character, which
// some languages write for bytes that are not.
func checkUnicode(data []byte) error {
	if !utf8.Valid(data) {
		return xerrors.New("it is not UTF-8")
	}
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i+1 < len(data); {
		r, size := rune(0), 2
		if data[i+1] == 'u' {
			r, size = escaped(data[i:]), 6
		}
		if utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, escaped(data[min(i+6, len(data)):])) == utf8.RuneError {
				return xerrors.New("it has half of a surrogate pair")
			}
			size = 12
		}
		i = min(i+size, len(data))
		next := bytes.IndexByte(data[i:], '\\')
		if next < 0 {
			return nil
		}
		i += next
	}
	return nil
}

// escaped returns the code unit of the escape that data begins with, 0 where it
// begins with none.
func escaped(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
