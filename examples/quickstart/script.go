package main

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"golang.org/x/xerrors"
)

// A Call is a tool call of a model, and the result that it must have.
type Call struct {
	Tool      string
	Arguments string // in JSON; {name} is what a result had for the group of that name
	Want      string // a regular expression, with {name}, that the result must match; its named groups are remembered
}

// Execute returns the call of a command in the foreground.
func Execute(command, want string) Call {
	text, err := json.Marshal(command)
	if err != nil {
		panic(err) // of a string
	}
	return Call{Tool: "execute", Arguments: `{"command":` + string(text) + `}`, Want: want}
}

// A Scene is one answer of a model: words and calls. The last one has no calls.
type Scene struct {
	Says  string // with {name}, as in Arguments
	Calls []Call
}

// A Script is the whole part of a model.
type Script []Scene

// Next returns the answer to a conversation with these results. Like a real model,
// the script keeps nothing between two answers: it reads all results again.
func (s Script) Next(results []string) (Scene, error) {
	known := make(memory)
	for _, scene := range s {
		if len(results) == 0 {
			next := Scene{Says: known.fill(scene.Says)}
			for _, call := range scene.Calls {
				call.Arguments = known.fill(call.Arguments)
				next.Calls = append(next.Calls, call)
			}
			return next, nil
		}
		for _, call := range scene.Calls {
			if len(results) == 0 {
				return Scene{}, xerrors.Errorf("a call of %s has no result", call.Tool)
			}
			if err := known.read(call, results[0]); err != nil {
				return Scene{}, err
			}
			results = results[1:]
		}
	}
	return Scene{}, errors.New("the script is over, and the model is asked for more")
}

// A memory has what results have said, by the names of groups.
type memory map[string]string

// read checks the result of a call, and remembers its groups.
func (m memory) read(call Call, result string) error {
	want, err := regexp.Compile("(?s)" + m.fill(call.Want))
	if err != nil {
		return err
	}
	found := want.FindStringSubmatch(result)
	if found == nil {
		return xerrors.Errorf("the result of %s %s should match %q: %s", call.Tool, call.Arguments, call.Want, result)
	}
	for i, name := range want.SubexpNames() {
		if name != "" {
			m[name] = found[i]
		}
	}
	return nil
}

// fill puts what is remembered into a text.
func (m memory) fill(text string) string {
	for name, value := range m {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}
