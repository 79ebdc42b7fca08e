package arguments

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"

	"golang.org/x/xerrors"
)

// A List is a list of objects, each a struct of arguments. One object may come
// without the list, and the whole of it as a string.
type List[T any] []T

func (l *List[T]) decode(raw json.RawMessage) error {
	if raw[0] == '"' {
		var inner Text
		if err := inner.decode(raw); err != nil {
			return err
		}
		if len(inner) > 0 && (inner[0] == '[' || inner[0] == '{') && json.Valid([]byte(inner)) {
			raw = json.RawMessage(inner)
		}
	}
	if raw[0] == '{' {
		raw = append(append(json.RawMessage("["), raw...), ']')
	}
	if raw[0] != '[' {
		return xerrors.Errorf("got %s, want a list of objects", kind(raw))
	}
	var each []json.RawMessage
	if err := json.Unmarshal(raw, &each); err != nil {
		return xerrors.Errorf("not a valid list: %w", err)
	}
	*l = make(List[T], len(each))
	for i, r := range each {
		if kind(r) != "an object" {
			return xerrors.Errorf("item %d: got %s, want an object", i+1, kind(r))
		}
		if err := Decode(r, &(*l)[i]); err != nil {
			return xerrors.Errorf("item %d: %w", i+1, err)
		}
	}
	return nil
}

// item returns the type of the objects.
func (List[T]) item() reflect.Type { return reflect.TypeFor[T]() }

// Line is the number of a line; a negative one counts from the end. "" leaves it
// alone.
type Line int64

func (l *Line) decode(raw json.RawMessage) error {
	n, ok, err := whole(raw, "want the number of a line, such as 120, or -50 for the last 50")
	if ok {
		*l = Line(n)
	}
	return err
}

// Lines is how many lines; "" leaves it alone.
type Lines int64

func (l *Lines) decode(raw json.RawMessage) error {
	n, ok, err := whole(raw, "want how many lines, such as 200")
	if ok && n < 1 {
		return xerrors.Errorf("got %s, want how many lines, such as 200", written(raw))
	}
	if ok {
		*l = Lines(n)
	}
	return err
}

// whole reads a whole number; ok is false if there is none.
func whole(raw json.RawMessage, want string) (n int64, ok bool, err error) {
	value, is := scalar(raw)
	if is && value == "" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(value, 10, 64)
	if err != nil {
		// In JSON 1e3 and 1024.0 are whole numbers too.
		f, ferr := strconv.ParseFloat(value, 64)
		if !is || ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return 0, false, xerrors.Errorf("got %s, %s", written(raw), want)
		}
		n = int64(f)
	}
	return n, true, nil
}
