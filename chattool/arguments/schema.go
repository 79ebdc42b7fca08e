package arguments

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"
)

// Schema returns the JSON schema of a struct of arguments. fill completes a
// description, which is the text of a tag; an argument whose description it completes
// to "" is left out. Schema also leaves out the keywords that some providers refuse: $schema, $id and $ref.
func Schema(args any, fill func(string) string) json.RawMessage {
	data, err := json.Marshal(schemaOf(reflect.TypeOf(args), fill))
	if err != nil {
		panic("chattool: the schema of " + reflect.TypeOf(args).Name() + ": " + err.Error()) // the structs above are all there are
	}
	return data
}

func schemaOf(t reflect.Type, fill func(string) string) *jsonschema.Schema {
	reflector := jsonschema.Reflector{
		Anonymous:      true,
		DoNotReference: true,
		ExpandedStruct: true,
		LookupComment: func(t reflect.Type, name string) string {
			field, _ := t.FieldByName(name)
			return fill(field.Tag.Get("description"))
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
	for _, field := range argumentsOf(t) {
		if description := field.Tag.Get("description"); description != "" && fill(description) == "" {
			schema.Properties.Delete(fieldName(field))
		}
		for value := range strings.SplitSeq(field.Tag.Get("enum"), ",") {
			if value == "" {
				continue
			}
			if property, ok := schema.Properties.Get(fieldName(field)); ok {
				property.Enum = append(property.Enum, value)
			}
		}
	}
	return schema
}

// argumentsOf returns the fields of a struct of arguments, with those of the
// struct that it embeds in its place. The caller does not change them.
func argumentsOf(t reflect.Type) []reflect.StructField {
	if fields, ok := knownArguments.Load(t); ok {
		return fields.([]reflect.StructField)
	}
	fields := slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
	knownArguments.Store(t, fields)
	return fields
}

// knownArguments has what argumentsOf has returned, by the type: each call of a
// tool asks for it, and to look through a struct takes longer than all else that
// the call does with its arguments.
var knownArguments sync.Map

// fieldName returns the name by which a model knows a field.
func fieldName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// required reports whether the model must send a field.
func required(field reflect.StructField) bool {
	return !strings.HasSuffix(field.Tag.Get("json"), ",omitempty")
}
