package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/xerrors"
)

// maxArguments is the most that Decode takes, in bytes. The manager refuses a
// command that is too long for the system. This limit only keeps a runaway
// model from costing memory.
const maxArguments = 4 << 20

// described is an argument that many models send although no tool has it. It
// says in words what a call is for. It does not change the command, so a call
// does not fail because of it. A tool refuses every other argument that it does
// not have.
const described = "description"

// An argument is a pointer to a field of a struct of arguments. decode sets it
// from the value that the model sent, which is never null. If decode leaves the
// field alone, the field keeps the value that the struct came with. The error
// says what was expected.
type argument interface {
	decode(raw json.RawMessage) error
}

// Decode fills the struct that args points to from the model's JSON. It is
// stricter than encoding/json if something could run the wrong command: it
// refuses names that are unknown, doubled or spelled otherwise. It also takes
// other forms of a value whose meaning is clear.
func Decode(raw json.RawMessage, args any) error {
	members, err := object(raw)
	if err != nil {
		return err
	}
	delete(members, described)
	into := reflect.ValueOf(args).Elem()
	// A misspelled name is reported before a missing one, because it is the
	// cause.
	if err := unknown(members, into.Type()); err != nil {
		return err
	}
	for _, field := range argumentsOf(into.Type()) {
		value, name := into.FieldByIndex(field.Index), fieldName(field)
		raw, ok := members[name]
		if !ok || string(raw) == "null" {
			if required(field) {
				return xerrors.Errorf("the argument %q is missing and required%s", name, choice(field))
			}
			continue
		}
		if err := value.Addr().Interface().(argument).decode(raw); err != nil {
			return xerrors.Errorf("the argument %q: %w", name, err)
		}
	}
	return nil
}

// choice names the values of an argument that has few, for an error.
func choice(field reflect.StructField) string {
	values := field.Tag.Get("enum")
	if values == "" {
		return ""
	}
	return ": one of " + strings.ReplaceAll(values, ",", ", ")
}

var errFollows = errors.New("something follows the arguments' JSON object")

// invalid returns the error for arguments that are not valid JSON.
func invalid(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the arguments end in the middle: your answer was cut off, most likely at its limit of tokens. Nothing was done; make the call again, and write what is long to a file in parts")
	}
	return xerrors.Errorf("the arguments are not valid JSON: %w", err)
}

// object returns the members of the arguments, which should be a JSON object.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if len(raw) > maxArguments {
		return nil, xerrors.Errorf("the arguments have %d bytes, at most %d are taken; write what is long to a file", len(raw), maxArguments)
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("the arguments are not valid UTF-8")
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		// Some models encode the object twice.
		var inner string
		dec := json.NewDecoder(bytes.NewReader(raw))
		if err := dec.Decode(&inner); err != nil {
			return nil, invalid(err)
		}
		if dec.More() {
			return nil, errFollows
		}
		raw = bytes.TrimSpace([]byte(inner))
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] != '{' && !json.Valid(raw) {
		return nil, xerrors.Errorf("the arguments must be a JSON object, and begin with %.60q", raw)
	}
	if raw[0] != '{' {
		return nil, xerrors.Errorf("the arguments must be a JSON object, not %s", kind(raw))
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	members := make(map[string]json.RawMessage)
	if _, err := dec.Token(); err != nil {
		return nil, invalid(err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, invalid(err)
		}
		name := key.(string) // within an object, the decoder takes nothing else
		if _, ok := members[name]; ok {
			return nil, xerrors.Errorf("the argument %.60q is there twice", name)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, invalid(err)
		}
		members[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, invalid(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errFollows
	}
	return members, nil
}

// unknown returns an error if a member is not an argument. The error has the
// name that the model probably meant.
func unknown(members map[string]json.RawMessage, t reflect.Type) error {
	fields := argumentsOf(t)
	var names []string
	for name := range members {
		if !slices.ContainsFunc(fields, func(f reflect.StructField) bool { return fieldName(f) == name }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	var known []string
	for _, field := range fields {
		known = append(known, fieldName(field))
	}
	name := slices.Min(names)
	if len(known) == 0 {
		return xerrors.Errorf("there is no argument %.60q; this tool takes none", name)
	}
	if meant := meant(name, t); meant != "" {
		return xerrors.Errorf("there is no argument %.60q, it is called %q; this tool takes %s", name, meant, strings.Join(known, ", "))
	}
	return xerrors.Errorf("there is no argument %.60q; this tool takes %s", name, strings.Join(known, ", "))
}

// meant returns the argument that a wrong name most likely stands for, or "" if
// there is none.
func meant(name string, t reflect.Type) string {
	fold := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
	}
	for _, field := range argumentsOf(t) {
		if fold(fieldName(field)) == fold(name) {
			return fieldName(field)
		}
	}
	for _, field := range argumentsOf(t) {
		for alias := range strings.SplitSeq(field.Tag.Get("alias"), ",") {
			if alias != "" && fold(alias) == fold(name) {
				return fieldName(field)
			}
		}
	}
	return ""
}

// kind names the type of a valid JSON value, for an error.
func kind(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
