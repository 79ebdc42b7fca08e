package prochttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
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
// string. encoding/json must have accepted data before.
func checkNames(data []byte, t reflect.Type) error {
	isMap := t.Kind() == reflect.Map
	fields := fieldsOf(t)
	rest := afterSpace(data)
	if rest[0] != '{' {
		return xerrors.New("it is no object")
	}
	seen := make(map[string]bool)
	for rest = afterSpace(rest[1:]); rest[0] != '}'; {
		end := valueEnd(rest)
		var text string
		if err := json.Unmarshal(rest[:end], &text); err != nil {
			return err
		}
		inner, known := fields[text]
		if seen[text] || !known && !isMap {
			return xerrors.Errorf("%.40q is there twice, or in other letters than it should be", text)
		}
		seen[text] = true
		rest = afterSpace(afterSpace(rest[end:])[len(":"):])
		end = valueEnd(rest)
		value := rest[:end]
		switch isNull := string(value) == "null"; {
		case isNull && isMap:
			return xerrors.Errorf("%.40q is null", text)
		case !isNull && known && (inner.Kind() == reflect.Struct || inner.Kind() == reflect.Map):
			if err := checkNames(value, inner); err != nil {
				return err
			}
		}
		if rest = afterSpace(rest[end:]); rest[0] == ',' {
			rest = afterSpace(rest[1:])
		}
	}
	return nil
}

// fieldsOf returns the fields of a struct by their names in JSON. A map has
// none.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if t.Kind() == reflect.Map {
		return nil
	}
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := make(map[string]reflect.Type)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = t.Field(i).Type
	}
	knownFields.Store(t, fields)
	return fields
}

// knownFields remembers what fieldsOf has found for the few types of bodies.
var knownFields sync.Map

// afterSpace returns data without the white space at its beginning.
func afterSpace(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }

// valueEnd returns the length of the JSON value at the beginning of data, which
// is valid JSON up to there.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // a number or a word ends before it
			}
			depth--
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(data)
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
