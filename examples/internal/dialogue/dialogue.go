// Package dialogue prints a conversation for the examples: the speaker, and
// beside it the message, the call or the result.
package dialogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/xerrors"
)

// Width is the length of a line in runes.
const Width = 80

// A Column is the position of the text beside a label, in runes from the left.
type Column int

// Print prints texts beside a label, each on a line of its own, or on several.
func (c Column) Print(out io.Writer, label string, texts ...string) error {
	var b strings.Builder
	for _, text := range texts {
		for line := range strings.Lines(text) {
			fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-*s%s", int(c), label, line), " \n"))
			label = ""
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// Wrap breaks a text between words into lines that fit beside a label. A word
// that is too long gets a line of its own.
func (c Column) Wrap(text string) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > Width-int(c) {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Call returns the lines of a tool call: the name of the tool with the
// arguments, and a command as a person would type it. The arguments are a JSON
// object, or null.
func (c Column) Call(tool string, arguments json.RawMessage) ([]string, error) {
	members, err := Members(arguments)
	if err != nil {
		return nil, err
	}
	command := ""
	for _, m := range members {
		if m.Name == "command" {
			command = "$ " + strings.ReplaceAll(m.Text(), "\n", "\n> ")
			continue
		}
		tool += " " + m.Fact()
	}
	return append(c.Wrap(tool), command), nil
}

// A Member is a member of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the members of a JSON object in their order. null has none.
func Members(object json.RawMessage) ([]Member, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	open, err := dec.Token()
	switch {
	case err == nil && open == nil:
		return nil, nil
	case err != nil || open != json.Delim('{'):
		return nil, errors.Join(xerrors.Errorf("%.200q is no JSON object", object), err)
	}
	var members []Member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Name: fmt.Sprint(name)}
		if err := dec.Decode(&m.Value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// Text returns a string without its quotes, and any other value as its JSON.
func (m Member) Text() string {
	var s string
	if json.Unmarshal(m.Value, &s) != nil {
		return string(m.Value)
	}
	return s
}

// Fact returns the member in the form for a line with other members.
func (m Member) Fact() string {
	s := m.Text()
	if strings.ContainsAny(s, " \n") {
		s = string(m.Value)
	}
	return m.Name + "=" + strings.ReplaceAll(s, `,"`, `, "`)
}
