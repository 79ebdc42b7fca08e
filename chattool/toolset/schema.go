package toolset

import (
	"encoding/json"
	"maps"
	"slices"
)

// SchemaMap returns Schema in the form that most libraries want. The caller owns it.
func (d Definition) SchemaMap() map[string]any {
	var schema map[string]any
	if err := json.Unmarshal(d.Schema, &schema); err != nil {
		return nil // it is not one of a Set
	}
	return schema
}

// StrictSchema returns the schema for providers that hold a model to one exactly,
// such as OpenAI with strict set: every property is required, and one that may be left
// out may be null instead. A Set takes null for what is left out. The caller owns it.
func (d Definition) StrictSchema() map[string]any {
	schema := d.SchemaMap()
	makeStrict(schema)
	return schema
}

// makeStrict changes the schema of an object, and of all objects in it.
func makeStrict(schema map[string]any) {
	if items, ok := schema["items"].(map[string]any); ok {
		makeStrict(items)
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	required, _ := schema["required"].([]any)
	for name, property := range properties {
		property, ok := property.(map[string]any)
		if !ok {
			continue
		}
		makeStrict(property)
		if slices.Contains(required, any(name)) {
			continue
		}
		property["type"] = []any{property["type"], "null"}
		if values, ok := property["enum"].([]any); ok {
			property["enum"] = append(values, nil)
		}
	}
	names := slices.AppendSeq([]string{}, maps.Keys(properties)) // never null
	slices.Sort(names)
	schema["required"] = names
	schema["additionalProperties"] = false
}
