package prochttp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// The bodies with which the fuzzing begins.
var bodies = []string{
	`{"command":"true"}`, ` { "command" : "a\\" , "env" : { "A" : "\"}" , "a" : "," } } `, `{}`, ` null`, ``, `{`, `{}{}`, `[]`,
	`{"command":"a","command":"b"}`, `{"command":"a","c\u006fmmand":"b"}`, `{"Command":"a"}`, `{"comm\u0061nd":"a"}`,
	`{"env":{"A":"a","A":"b"}}`, `{"env":{"A":null}}`, `{"env":null,"limit":null}`, `{"limit":{"bytes":1,"line":-2}}`,
	`{"limit":{"Bytes":1}}`, `{"limit":{"bytes":1,"bytes":2}}`, `{"limit":{}}`, `{"env":{}}`, `{"base_env":["a}","]"],"background":true}`,
	`{"base_env":[],"base_dir":null,"size":{}}`, `{"background":false ,"id":"x"}`, `{"env":{"":""}}`, `{"":[1,{"a":2}],"x":1e9}`,
	`{"command":"\ud83d\ude00\u00e9\b\f\n\r\t\/"}`, `{"command":"\ud83d"}`, `{"command":"\ud83d\u0041"}`, `{"command":"\ude00"}`, "{\"command\":\"\xff\"}", "{\"command\":\"\n\"}",
	`{"command":"\u12"}`, `{"command":"\x"}`, `{"command":"a`, `{"command":"a\`, `{"command":1}`, `{"limit":{"bytes":1.0}}`, `{"limit":{"bytes":01}}`, `{"limit":{"bytes":-0}}`,
	`{"limit":{"bytes":99999999999999999999}}`, `{"limit":"x"}`, `{"background":nul}`, `{"background":1}`, `{"env":["a"]}`, `{"base_env":["a",]}`, `{"base_env":["a" "b"]}`, `{"id":"x",}`, `{"id" "x"}`,
	`{"base_env":[null,"a"],"base_withheld":{}}`, "{\"id\":\"x\"}\x00", `{"x":[[],{},[{"a":[]}],"\ud83d",-1.5e+9,true,false,null]}`, `{"x":[tru]}`, `{"x":{"a"}}`,
}

// A start is read as encoding/json reads it, or refused. What is refused is what
// encoding/json refuses or would guess.
func FuzzDecodeStrict(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want prochttp.StartBody
		err := prochttp.Decode(data, &got, true)
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		refused := dec.Decode(&want)
		if refused == nil && !json.Valid(data) {
			refused = fmt.Errorf("there is more")
		}
		if refused == nil && !utf8.Valid(data) {
			refused = fmt.Errorf("not UTF-8")
		}
		if refused == nil {
			refused = halfPair(data)
		}
		if refused == nil {
			refused = namesByToken(data, reflect.TypeFor[prochttp.StartBody]())
		}
		require.Equal(t, refused == nil, err == nil, "%q: %v, and encoding/json: %v", data, err, refused)
		if err == nil {
			require.Equal(t, want, got, "%q", data)
		}
	})
}

// An answer is read as encoding/json reads it, with the fields of a later
// version. Only names in other letters are none of these fields.
func FuzzDecode(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
		f.Add([]byte(strings.NewReplacer("command", "output", "limit", "process", "bytes", "pid", "base_env", "withheld").Replace(body)))
	}
	answer, err := json.Marshal(full())
	require.NoError(f, err)
	f.Add(answer)
	f.Add(bytes.ReplaceAll(answer, []byte(`"user"`), []byte(`"u"`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want procmgr.InputOutput
		err := prochttp.Decode(data, &got, false)
		if err == nil {
			require.True(t, json.Valid(data), "%q", data)
		}
		var tokens any
		if json.Unmarshal(data, &tokens) == nil && namesByToken(data, nil) == nil && !bytes.Contains(data, []byte("null")) {
			refused := json.Unmarshal(data, &want)
			require.Equal(t, refused == nil, err == nil, "%q: %v, and encoding/json: %v", data, err, refused)
			if err == nil {
				require.Equal(t, want, got, "%q", data)
			}
		}
	})
}

// Every field of an answer arrives.
func TestDecode(t *testing.T) {
	for name, want := range map[string]any{
		"output": new(full()),
		"events": &procmgr.EventPage{Events: []procmgr.Event{{At: time.Unix(5, 6).UTC(), Kind: "exited", Process: full().Process, Line: "é\u2028\x01\""}}, Next: "n", Gap: true},
	} {
		data, err := json.Marshal(want)
		require.NoError(t, err)
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		require.NoError(t, prochttp.Decode(data, got, false))
		require.Equal(t, want, got, name)
		for end := range data {
			var syntax *json.SyntaxError
			require.ErrorAs(t, prochttp.Decode(data[:end], got, false), &syntax, "%s", data[:end])
		}
	}
	deep := `{"x":` + strings.Repeat("[", 1<<20)
	require.Error(t, prochttp.Decode([]byte(deep), new(procmgr.Output), false))
}

// full returns an answer that has everything.
func full() procmgr.InputOutput {
	return procmgr.InputOutput{Written: 7, Output: procmgr.Output{
		Process: procmgr.Process{
			ID: "x", ChatID: "a", Command: "true", WorkDir: "/", Background: true, Stdin: procmgr.StdinPipe, PID: 1, State: procmgr.Exited,
			ExitCode: new(3), EndedBy: procmgr.CauseExit, StartedAt: time.Unix(1, 2).UTC(), ExitedAt: time.Unix(3, 4).UTC(), Elapsed: 1<<53 + 1,
			Usage: procmgr.Usage{User: time.Second, System: time.Millisecond, MaxRSS: 1 << 40}, LogPath: "/tmp/é",
		},
		StartResult: procmgr.StartResult{Attached: true, Withheld: []string{"A", "B"}}, Text: "a\nb\t\x1b[0m\u2028<&>\U0001F600", Truncated: &headtail.Truncation{OriginalBytes: 9, Strategy: "head_tail"},
		Next: 1 << 40, SearchResult: procmgr.SearchResult{Matched: true}, Highlights: []procmgr.Highlight{{Line: 1, Offset: 2, Text: "x"}, {Offset: 3}},
		Listening: []procmgr.Socket{{Network: "tcp", Addr: "127.0.0.1:1", PID: 2}}, Members: []procmgr.Member{{PID: 2, Parent: 1, Name: "sh", Usage: procmgr.Usage{User: 3}, Memory: 4}}, Screen: &procmgr.Screen{Rows: []string{"a", ""}, Col: 1},
	}}
}

// halfPair finds a surrogate that stands for no character.
func halfPair(data []byte) error {
	plain := bytes.ReplaceAll(data, []byte(`\\`), []byte("__"))
	for i := 0; i+6 <= len(plain); i++ {
		if plain[i] != '\\' || plain[i+1] != 'u' {
			continue
		}
		if strings.ContainsRune("dD", rune(plain[i+2])) && plain[i+3] >= '8' {
			var text string
			one := plain[i:min(i+12, len(plain))]
			if json.Unmarshal([]byte(`"`+string(one)+`"`), &text) != nil || strings.ContainsRune(text, utf8.RuneError) || len(one) < 12 || one[6] != '\\' {
				return fmt.Errorf("half of a pair: %s", one)
			}
			i += 11
		}
	}
	return nil
}

// namesByToken checks the names of an object token by token. Without a type, it
// finds only names that come twice, and names in other letters than those of an
// answer.
func namesByToken(data []byte, t reflect.Type) error {
	fields, seen := map[string]reflect.Type{}, map[string]bool{}
	free := t == nil || t.Kind() == reflect.Map
	if !free {
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields[name] = field.Type // an embedded struct has no name
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("no object: %w", err)
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name := token.(string)
		inner, known := fields[name]
		var value json.RawMessage
		switch err := dec.Decode(&value); {
		case err != nil:
			return err
		case seen[name], !known && !free, free && t != nil && string(value) == "null", t == nil && name != strings.ToLower(name):
			return fmt.Errorf("not allowed: %s", name)
		}
		seen[name] = true
		switch {
		case known && string(value) != "null" && (inner.Kind() == reflect.Struct || inner.Kind() == reflect.Map):
			err = namesByToken(value, inner)
		case t == nil && value[0] == '{':
			err = namesByToken(value, nil)
		case t == nil && value[0] == '[':
			var members []json.RawMessage
			if err = json.Unmarshal(value, &members); err == nil && len(members) > 0 && members[0][0] == '{' {
				err = namesByToken(members[0], nil)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
