// Package dialogue prints a conversation for the examples: the speaker, and
// beside it the message, the call or the result.
package dialogue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Width is the length of a line in runes.
const Width = 80

// A Transcript prints a conversation as it goes on. Of a result it leaves out the middle
// of a long output. What a model or a command says cannot be taken for a line of the
// Transcript's own. Once a write has failed, it prints no more. A Transcript is safe for
// concurrent use.
type Transcript struct {
	Out    io.Writer
	Column int    // the position of the text beside a label, in runes from the left
	Gone   func() // called if a write fails, unless it is nil

	mu     sync.Mutex // guards the field below, and the writes
	failed bool
}

// Print prints texts beside a label, each on a line of its own, or on several.
func (t *Transcript) Print(label string, texts ...string) {
	var b strings.Builder
	for _, text := range texts {
		for line := range strings.Lines(text) {
			fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-*s%s", t.Column, label, Plain(line)), " \n"))
			label = ""
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed {
		return
	}
	if _, err := io.WriteString(t.Out, b.String()); err != nil {
		t.failed = true
		if t.Gone != nil {
			t.Gone()
		}
	}
}

// Space prints an empty line.
func (t *Transcript) Space() { t.Print("", "\n") }

// Say prints words beside a label.
func (t *Transcript) Say(label, words string) {
	var lines []string
	for paragraph := range strings.Lines(words) {
		lines = append(lines, t.wrap(paragraph)...)
	}
	t.Print(label, lines...)
}

// Call prints a tool call: the name of the tool with the arguments, and a command as
// a person would type it, but no secret.
func (t *Transcript) Call(label, tool string, arguments json.RawMessage) {
	all, ok := members(arguments)
	if !ok {
		t.Print(label, t.wrap(word(tool)+" "+word(string(arguments)))...)
		return
	}
	secret := slices.ContainsFunc(all, func(m member) bool { // "yes" and 1 are true as well
		return m.name == "secret" && string(m.value) != "false" && string(m.value) != "null"
	})
	head, command := word(tool), ""
	for _, m := range all {
		switch {
		case m.name == "command":
			command = "$ " + strings.ReplaceAll(m.text(), "\n", "\n> ")
		case m.name == "text" && secret:
			head += " text=(hidden)"
		default:
			head += " " + m.fact()
		}
	}
	t.Print(label, append(t.wrap(head), command)...)
}

// Result prints a tool result of toolset.FormatText, as the model reads it: the facts and
// the messages of the tool, and the output after bars.
func (t *Transcript) Result(label, content string) {
	header, output, printed := strings.Cut(content, "\n---\n")
	var lines []string
	for line := range strings.Lines(header) {
		lines = append(lines, t.wrap(line)...)
	}
	if printed {
		lines = append(lines, t.shorten(output)...)
	}
	t.Print(label, lines...)
}

// wrap breaks a text between words into lines that fit beside a label. A word that is
// too long gets a line of its own.
func (t *Transcript) wrap(text string) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line+" "+word) > Width-t.Column {
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

// shorten returns the lines of an output, each after a bar. Of a long output it
// returns both ends, and the marker of the bytes that the tool itself left out.
func (t *Transcript) shorten(output string) (kept []string) {
	const all, ends = 10, 4
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	hidden := 0
	for i, line := range lines {
		mark := strings.HasPrefix(line, "... [omitted ")
		if len(lines) > all && i >= ends && i < len(lines)-ends && !mark {
			hidden++
			continue
		}
		if hidden > 0 {
			kept = append(kept, fmt.Sprintf("  (%d lines that the model read)", hidden))
			hidden = 0
		}
		if line == "" && output != "" {
			kept = append(kept, "| ")
		}
		for part := range slices.Chunk([]rune(line), Width-t.Column-2) {
			kept = append(kept, "| "+string(part))
		}
	}
	return kept
}

// A member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of a JSON object in their order, and whether it is one.
// null has none.
func members(object json.RawMessage) (all []member, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') {
		return nil, err == nil && open == nil
	}
	for dec.More() {
		var m member
		name, err := dec.Token()
		if err == nil {
			err = dec.Decode(&m.value)
		}
		if err != nil {
			return nil, false
		}
		m.name = fmt.Sprint(name)
		all = append(all, m)
	}
	return all, true
}

// text returns a string without its quotes, and any other value as its JSON.
func (m member) text() string {
	var s string
	if json.Unmarshal(m.value, &s) != nil {
		return string(m.value)
	}
	return s
}

// fact returns the member in the form for a line with other members.
func (m member) fact() string {
	s := m.text()
	if s != word(s) {
		s = string(m.value)
	}
	return word(m.name) + "=" + strings.ReplaceAll(s, `,"`, `, "`)
}

// word returns a text as a part of a line. It is quoted if it could be taken for
// more than one part, or for another line.
func word(text string) string {
	if strings.ContainsFunc(text, unicode.IsSpace) || strings.Contains(text, `"`) {
		return strconv.Quote(text)
	}
	return text
}

// Plain removes the characters that make a terminal do more than show text or that
// reverse the order of a line. Line ends and tabs stay.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, text)
}
