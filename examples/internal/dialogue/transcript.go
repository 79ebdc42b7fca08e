package dialogue

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
)

// A Transcript prints a conversation as it goes on. Of a result it leaves out the
// duration and the directory of a command, which differ from run to run, and the
// middle of a long output. Once a write has failed, it prints no more. A
// Transcript is safe for concurrent use.
type Transcript struct {
	Out    io.Writer
	Column Column
	Gone   func() // called if a write fails, unless it is nil

	mu  sync.Mutex // guards the field below, and the writes
	err error
}

// Print prints texts beside a label. It returns the first error of a write.
func (t *Transcript) Print(label string, texts ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		if t.err = t.Column.Print(t.Out, label, texts...); t.err != nil && t.Gone != nil {
			t.Gone()
		}
	}
	return t.err
}

// Space prints an empty line.
func (t *Transcript) Space() error { return t.Print("", "\n") }

// Say prints words beside a label.
func (t *Transcript) Say(label, words string) error {
	var lines []string
	for paragraph := range strings.Lines(words) {
		lines = append(lines, t.Column.Wrap(paragraph)...)
	}
	return t.Print(label, lines...)
}

// Call prints a tool call.
func (t *Transcript) Call(label, tool string, arguments json.RawMessage) error {
	lines, err := t.Column.Call(tool, arguments)
	if err != nil {
		lines = t.Column.Wrap(tool + " " + string(arguments))
	}
	return t.Print(label, lines...)
}

// Result prints a tool result as the model reads it: facts, the output after bars,
// and the messages of the tool.
func (t *Transcript) Result(label, content string) error {
	members, err := Members(json.RawMessage(content))
	if err != nil {
		return t.Print(label, shorten(content, Width-int(t.Column))...)
	}
	var facts, output, prose []string
	for _, m := range members {
		switch m.Name {
		case "duration", "workdir":
		case "output":
			output = shorten(m.Text(), Width-int(t.Column))
		case "error", "note":
			prose = append(prose, t.Column.Wrap(m.Name+": "+m.Text())...)
		case "processes":
			if output, err = list(m.Value, Width-int(t.Column)); err != nil {
				return err
			}
		default:
			facts = append(facts, m.Fact())
		}
	}
	return t.Print(label, append(append(t.Column.Wrap(strings.Join(facts, " ")), output...), prose...)...)
}

// shorten returns the lines of an output, each after a bar. Of a long output it
// returns both ends, and the marker of the bytes that the tool itself left out.
func shorten(output string, width int) []string {
	const all, ends = 8, 2
	if output == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
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
		for { // an empty line prints as well
			fits := cut(line, width-2)
			kept = append(kept, "| "+fits)
			if line = line[len(fits):]; line == "" {
				break
			}
		}
	}
	return kept
}

// list returns a line for each process of a list.
func list(raw json.RawMessage, width int) ([]string, error) {
	var processes []struct {
		ID       string `json:"process_id"`
		Command  string `json:"command"`
		State    string `json:"state"`
		ExitCode *int   `json:"exit_code"`
	}
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
		lines = append(lines, cut(fmt.Sprintf("| %s  %-9s  %s", p.ID, state, command), width))
	}
	return lines, nil
}

// cut returns the first n runes of a text, or the whole text if it is shorter.
func cut(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
