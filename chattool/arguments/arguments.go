// Package arguments reads the arguments that a model sends for a tool, and writes
// the JSON schema that asks for them. Both follow a struct whose fields have types
// of this package. It is for a set of tools in the shape of package toolset.
//
// A field is required if its json tag has no omitempty. The tag description is for
// the model. The tag enum lists the values, separated by commas. The tag alias
// lists wrong names that models use; the error for one of them gives the right
// name.
package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
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
// other forms of a value whose meaning is clear. The fields named by without are none of
// the tool's arguments.
func Decode(raw []byte, args any, without ...string) error {
	members, err := object(raw)
	if err != nil {
		return err
	}
	delete(members, described)
	into := reflect.ValueOf(args).Elem()
	fields := slices.DeleteFunc(fieldsOf(into.Type()), func(f field) bool { return slices.Contains(without, f.name) })
	// A misspelled name is reported before a missing one, because it is the
	// cause.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return unknown(name, fields)
		}
	}
	for _, f := range fields {
		raw, ok := members[f.name]
		if !ok || string(raw) == "null" {
			if f.required {
				choice := ""
				if values := f.list("enum"); len(values) > 0 {
					choice = ": one of " + strings.Join(values, ", ")
				}
				return xerrors.Errorf("the argument %q is missing and required%s", f.name, choice)
			}
			continue
		}
		if err := into.FieldByIndex(f.Index).Addr().Interface().(argument).decode(raw); err != nil {
			return xerrors.Errorf("the argument %q: %w", f.name, err)
		}
	}
	return nil
}

// Description returns the argument description, which Decode passes over: a model says with
// it what a call is for. It is "" if there is none.
func Description(raw []byte) (text string) {
	members, err := object(raw)
	if err == nil && members[described] != nil {
		_ = json.Unmarshal(members[described], &text) // another type counts as none
	}
	return text
}

// object returns the members of the arguments, which should be a JSON object.
func object(raw json.RawMessage) (members map[string]json.RawMessage, err error) {
	if len(raw) > maxArguments {
		return nil, xerrors.Errorf("the arguments have %d bytes, at most %d are taken; write what is long to a file", len(raw), maxArguments)
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("the arguments are not valid UTF-8")
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' { // some models encode the object twice
		var inner string
		if err := json.Unmarshal(raw, &inner); err != nil {
			return nil, invalid(err)
		}
		raw = json.RawMessage(strings.TrimSpace(inner))
	}
	switch {
	case len(raw) == 0, string(raw) == "null":
		return nil, nil
	case raw[0] != '{' && !json.Valid(raw):
		return nil, xerrors.Errorf("the arguments must be a JSON object, and begin with %.60q", []byte(raw))
	case raw[0] != '{':
		return nil, xerrors.Errorf("the arguments must be a JSON object, not %s", kind(raw))
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	members = make(map[string]json.RawMessage)
	_, err = dec.Token()
	for err == nil && dec.More() {
		var key json.Token
		if key, err = dec.Token(); err != nil {
			break
		}
		name := key.(string) // within an object, the decoder takes nothing else
		if _, ok := members[name]; ok {
			return nil, xerrors.Errorf("the argument %.60q is there twice", name)
		}
		var value json.RawMessage
		err = dec.Decode(&value)
		members[name] = value
	}
	if err == nil {
		_, err = dec.Token() // the brace
	}
	if err != nil {
		return nil, invalid(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the arguments' JSON object")
	}
	return members, nil
}

// invalid returns the error for arguments that are not valid JSON.
func invalid(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.HasPrefix(err.Error(), "unexpected end of JSON") {
		return errors.New("the arguments end in the middle: your answer was cut off, most likely at its limit of tokens. Nothing was done; make the call again, and write what is long to a file in parts")
	}
	return xerrors.Errorf("the arguments are not valid JSON: %w", err)
}

// unknown returns the error for a name that is no argument. It has the one that the
// model probably meant.
func unknown(name string, fields []field) error {
	fold := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
	}
	var known []string
	meant := ""
	for _, f := range fields {
		known = append(known, f.name)
		if meant == "" && slices.ContainsFunc(f.list("alias"), func(alias string) bool { return fold(alias) == fold(name) }) {
			meant = f.name
		}
	}
	if i := slices.IndexFunc(known, func(k string) bool { return fold(k) == fold(name) }); i >= 0 {
		meant = known[i]
	}
	if meant != "" {
		return xerrors.Errorf("there is no argument %.60q, it is called %q; this tool takes %s", name, meant, strings.Join(known, ", "))
	}
	return xerrors.Errorf("there is no argument %.60q; this tool takes %s", name, strings.Join(known, ", "))
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

// A field is an argument in a struct, by its tags.
type field struct {
	reflect.StructField
	name     string
	required bool
}

// fieldsOf returns the fields of a struct of arguments. The fields of an embedded
// struct come in its place.
func fieldsOf(t reflect.Type) (fields []field) {
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, field{f, name, options != "omitempty"})
		}
	}
	return fields
}

// list returns the values of a tag.
func (f field) list(tag string) []string {
	return strings.FieldsFunc(f.Tag.Get(tag), func(r rune) bool { return r == ',' })
}

// Schema returns the JSON schema of a struct of arguments. fill completes a
// description, which is the text of a tag; an argument whose description it completes
// to "" is left out. Schema also leaves out the keywords that some providers refuse: $schema, $id and $ref.
func Schema(args any, fill func(string) string) []byte {
	data, err := schemaOf(reflect.TypeOf(args), fill).MarshalJSON()
	if err != nil {
		panic("chattool: the schema of " + reflect.TypeOf(args).Name() + ": " + err.Error()) // who defined it wrote it
	}
	return data
}

func schemaOf(t reflect.Type, fill func(string) string) *jsonschema.Schema {
	reflector := jsonschema.Reflector{
		Anonymous:      true,
		DoNotReference: true,
		ExpandedStruct: true,
		LookupComment: func(t reflect.Type, name string) string {
			f, _ := t.FieldByName(name)
			return fill(f.Tag.Get("description"))
		},
		// A duration is a string to the model, because a number has no unit,
		// and so is a number of tokens, because it may have one.
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[Duration](), reflect.TypeFor[Tokens]():
				return &jsonschema.Schema{Type: "string"}
			case reflect.TypeFor[KeyList]():
				return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}
			}
			if list, ok := reflect.Zero(t).Interface().(interface{ item() reflect.Type }); ok {
				return &jsonschema.Schema{Type: "array", Items: schemaOf(list.item(), fill)}
			}
			return nil
		},
	}
	schema := reflector.ReflectFromType(t)
	schema.Version = ""
	for _, f := range fieldsOf(t) {
		if description := f.Tag.Get("description"); description != "" && fill(description) == "" {
			schema.Properties.Delete(f.name)
		}
		if property, ok := schema.Properties.Get(f.name); ok {
			for _, value := range f.list("enum") {
				property.Enum = append(property.Enum, value)
			}
		}
	}
	return schema
}

// Rename changes the names of tools as a host wants them: to has new names by the old
// ones. A name that is "" is no tool's. If a change is impossible the error says which,
// and no name changes.
func Rename(to map[string]string, names ...*string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name *string) bool { return *name == "" })
	var all, renamed []string
	for _, name := range names {
		all = append(all, *name)
	}
	for _, own := range slices.Sorted(maps.Keys(to)) {
		switch {
		case !slices.Contains(all, own):
			return xerrors.Errorf("it has %.60q, but the tools are %s", own, strings.Join(all, ", "))
		case to[own] == "":
			return xerrors.Errorf("it has no name for %s", own)
		}
	}
	for _, name := range all {
		if host, ok := to[name]; ok {
			name = host
		}
		if slices.Contains(renamed, name) {
			return xerrors.Errorf("it calls two tools %.60q", name)
		}
		renamed = append(renamed, name)
	}
	for i, name := range names {
		*name = renamed[i]
	}
	return nil
}
