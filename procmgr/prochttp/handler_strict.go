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

// decodeStrict reads one JSON object. It refuses everything that encoding/json
// would guess, because a command must not run otherwise than its caller wrote
// it. It refuses fields that v does not have, names that come twice or in
// another case, and text that is not Unicode, which encoding/json would change.
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

// checkNames compares the names of an object's fields with those of a struct,
// letter by letter. Each name may come only once. The same holds for the objects
// inside it. In a map of strings, every name is allowed once, but null is no
// string.
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

// checkUnicode refuses data that is not UTF-8. It also refuses escapes of half a
// character, because some languages write them for bytes that are not UTF-8.
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

// escaped returns the code unit of the \u escape at the beginning of data, or 0
// if there is none.
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
