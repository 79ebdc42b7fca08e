package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"charm.land/fantasy"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	width  = 80 // runes of a line
	column = 8  // where the text beside a label begins
)

// A transcript prints a conversation as it goes on. What it leaves out of a
// result is how long a command took, and the middle of a long output.
type transcript struct {
	mu    sync.Mutex // guards what follows: tools may report from goroutines of the agent's
	out   io.Writer
	words strings.Builder // what the model has said of its turn
	runs  int             // calls of execute
}

func newTranscript(out io.Writer) *transcript { return &transcript{out: out} }

func (t *transcript) user(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.print("user", wrap(text)) // whoever cannot be written to is told at the model's first word
}

// text takes words of the model's.
func (t *transcript) text(s string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.words.WriteString(s)
	return nil
}

// endText prints what the model has said.
func (t *transcript) endText() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := wrap(t.words.String())
	t.words.Reset()
	if _, err := fmt.Fprintln(t.out); err != nil {
		return err
	}
	return t.print("model", lines)
}

// call prints a tool call: a command as a person would type it, and the other
// arguments behind the tool's name.
func (t *transcript) call(call fantasy.ToolCallContent) error {
	members, err := membersOf(call.Input)
	if err != nil {
		return err
	}
	var command []string
	head := call.ToolName
	for _, m := range members {
		if m.name == "command" {
			command = strings.Split(m.text(), "\n")
			continue
		}
		head += " " + m.fact()
	}
	lines := wrap(head)
	for i, line := range command {
		prompt := "> "
		if i == 0 {
			prompt = "$ "
		}
		lines = append(lines, prompt+line)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if command != nil {
		t.runs++
	}
	return t.print("call", lines)
}

// result prints what the model reads of a tool result.
func (t *transcript) result(res fantasy.ToolResultContent) error {
	content, isError := textOf(res.Result)
	members, err := membersOf(content)
	if err != nil {
		return err
	}
	var facts, output, prose []string
	for _, m := range members {
		switch m.name {
		case "wall_duration_ms":
		case "output":
			output = shorten(m.text())
		case "error", "note":
			prose = append(prose, wrap(m.name+": "+m.text())...)
		case "processes":
			if output, err = table(m.value); err != nil {
				return err
			}
		default:
			facts = append(facts, m.fact())
		}
	}
	label := "result"
	if isError {
		label = "error"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.print(label, append(append(wrap(strings.Join(facts, " ")), output...), prose...))
}

// end says what became of the processes, and fails where one is left.
func (t *transcript) end(ctx context.Context, host procmgr.Host) error {
	processes, err := host.List(ctx)
	if err != nil {
		return err
	}
	for _, p := range processes {
		if p.State != procmgr.Exited {
			return xerrors.Errorf("process %s is left in state %s: %q", p.ID, p.State, p.Command)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(processes) != t.runs {
		return xerrors.Errorf("%d commands were asked for, and there are %d processes", t.runs, len(processes))
	}
	_, err = fmt.Fprintf(t.out, "\n%d commands were run, each once; none of them is running.\n", len(processes))
	return err
}

// print prints lines beside a label. The caller holds mu.
func (t *transcript) print(label string, lines []string) error {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-*s%s", column, label, line), " "))
		label = ""
	}
	_, err := io.WriteString(t.out, b.String())
	return err
}

// A member is one of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// text is a string without its quotes, and anything else as it is in JSON.
func (m member) text() string {
	var s string
	if json.Unmarshal(m.value, &s) != nil {
		return string(m.value)
	}
	return s
}

// fact is the member as it is told in a line with others.
func (m member) fact() string {
	s := m.text()
	if strings.ContainsAny(s, " \n") {
		s = string(m.value)
	}
	return m.name + "=" + strings.ReplaceAll(s, `,"`, `, "`)
}

// membersOf returns the members of a JSON object in their order.
func membersOf(object string) ([]member, error) {
	dec := json.NewDecoder(strings.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(xerrors.Errorf("%.200q is no JSON object", object), err)
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// shorten returns the lines of an output behind a bar: all of a short one, and
// the ends of a long one with the mark of what the tool itself left out.
func shorten(output string) []string {
	const all, ends = 8, 2
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	if output == "" {
		return nil
	}
	var kept []string
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
		for { // an empty line too
			fits := cut(line, width-column-2)
			kept = append(kept, "| "+fits)
			if line = line[len(fits):]; line == "" {
				break
			}
		}
	}
	return kept
}

// table has a line for each process of a list.
func table(raw json.RawMessage) ([]string, error) {
	var processes []listed
	if err := json.Unmarshal(raw, &processes); err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range processes {
		state := p.State
		if p.ExitCode != nil {
			state += fmt.Sprintf(" %d", *p.ExitCode)
		}
		command, more, _ := strings.Cut(p.Command, "\n")
		if more != "" {
			command += " ..."
		}
		lines = append(lines, cut(fmt.Sprintf("| %s  %-9s  %s", p.ProcessID, state, command), width-column))
	}
	return lines, nil
}

// wrap breaks a text between words into lines that fit beside a label. A word
// that is too long has a line of its own.
func wrap(text string) []string {
	var lines []string
	var line bytes.Buffer
	for _, word := range strings.Fields(text) {
		if line.Len() > 0 && utf8.RuneCount(line.Bytes())+1+utf8.RuneCountInString(word) > width-column {
			lines = append(lines, line.String())
			line.Reset()
		}
		if line.Len() > 0 {
			line.WriteByte(' ')
		}
		line.WriteString(word)
	}
	return append(lines, line.String())
}

// cut returns the first n runes of a text, all of a shorter one.
func cut(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
