package prochttp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// In everything that encoding/json takes for a start, the names are found as its
// own reader of tokens finds them.
func FuzzCheckNames(f *testing.F) {
	for _, body := range []string{
		`{"command":"true"}`, ` { "command" : "a\\" , "env" : { "A" : "\"}" , "a" : "," } } `, `{}`, ` null`,
		`{"command":"a","command":"b"}`, `{"command":"a","c\u006fmmand":"b"}`, `{"Command":"a"}`, `{"comm\u0061nd":"a"}`,
		`{"env":{"A":"a","A":"b"}}`, `{"env":{"A":null}}`, `{"env":null,"limit":null}`, `{"limit":{"bytes":1,"line":-2}}`,
		`{"limit":{"Bytes":1}}`, `{"limit":{"bytes":1,"bytes":2}}`, `{"limit":{}}`, `{"env":{}}`, `{"base_env":["a}","]"],"background":true}`,
		`{"base_env":[],"base_dir":null,"size":{}}`, `{"background":false ,"id":"x"}`, `{"env":{"":""}}`, `{"":[1,{"a":2}],"x":1e9}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if json.Unmarshal(data, new(prochttp.StartBody)) != nil {
			return
		}
		kind := reflect.TypeFor[prochttp.StartBody]()
		got := prochttp.CheckNames(data, kind)
		require.Equal(t, namesByToken(data, kind) == nil, got == nil, "%q: %v", data, got)
	})
}

// namesByToken is what CheckNames is, token by token.
func namesByToken(data []byte, t reflect.Type) error {
	fields, seen := map[string]reflect.Type{}, map[string]bool{}
	isMap := t.Kind() == reflect.Map
	for i := 0; !isMap && i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = t.Field(i).Type
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("no object: %w", err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		inner, known := fields[name.(string)]
		var value json.RawMessage
		switch err := dec.Decode(&value); {
		case err != nil:
			return err
		case seen[name.(string)], !known && !isMap, isMap && string(value) == "null":
			return fmt.Errorf("not allowed: %s", name)
		}
		seen[name.(string)] = true
		if known && string(value) != "null" && (inner.Kind() == reflect.Struct || inner.Kind() == reflect.Map) {
			if err := namesByToken(value, inner); err != nil {
				return err
			}
		}
	}
	return nil
}
