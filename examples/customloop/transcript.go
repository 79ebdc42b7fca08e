package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	width  = 80 // runes of a line
	column = 8  // where the text beside a label begins
	ends   = 6  // lines of a long output that are shown of its beginning and of its end
)

// A transcript prints a conversation. It leaves out the middle of a long output,
// which the model reads.
type transcript struct{ out io.Writer }

func (t *transcript) user(text string) { t.print("user", wrap(text)...) }

// words prints what the model says.
func (t *transcript) words(text string) {
	t.print("", "\n")
	for paragraph := range strings.Lines(text) {
		t.print("model", wrap(paragraph)...)
	}
}

// call prints a call, with a command as a person would type it.
func (t *transcript) call(c call) {
	arguments := c.Function.Arguments
	var inner string
	if json.Unmarshal(arguments, &inner) == nil {
		arguments = json.RawMessage(inner)
	}
	head := c.Function.Name
	var values map[string]any
	if json.Unmarshal(arguments, &values) != nil {
		head += " " + string(arguments)
	}
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var command []string
	for _, name := range names {
		if name != "command" {
			head += fmt.Sprintf(" %s=%v", name, values[name])
			continue
		}
		command = strings.Split("$ "+fmt.Sprint(values[name]), "\n")
	}
	t.print("call", append(wrap(head), strings.Join(command, "\n> "))...)
}

// result prints what the model reads: how the process stands, its output behind
// bars, and the words of the tool.
func (t *transcript) result(content string) {
	var res struct {
		Output    string `json:"output"`
		ExitCode  *int   `json:"exit_code"`
		State     string `json:"state"`
		Error     string `json:"error"`
		Note      string `json:"note"`
		Processes []struct {
			ID      string `json:"process_id"`
			State   string `json:"state"`
			Command string `json:"command"`
		} `json:"processes"`
	}
	if json.Unmarshal([]byte(content), &res) != nil {
		res.Output = content
	}
	head := res.State
	if res.ExitCode != nil {
		head += fmt.Sprintf(", exit code %d", *res.ExitCode)
	}
	var lines []string
	if head != "" {
		lines = append(lines, head)
	}
	all := slices.Collect(strings.Lines(res.Output))
	for i, line := range all {
		switch {
		case len(all) <= 2*ends || i < ends || i >= len(all)-ends:
			lines = append(lines, "| "+line)
		case i == ends:
			lines = append(lines, fmt.Sprintf("  (%d more lines)", len(all)-2*ends))
		}
	}
	for _, p := range res.Processes {
		command, _, _ := strings.Cut(p.Command, "\n")
		lines = append(lines, fmt.Sprintf("| %-7s %-8s %.50s", p.ID, p.State, command))
	}
	if res.Error != "" {
		lines = append(lines, wrap("error: "+res.Error)...)
	}
	if res.Note != "" {
		lines = append(lines, wrap("note: "+res.Note)...)
	}
	t.print("result", lines...)
}

// retry prints why the model is asked once more, and when.
func (t *transcript) retry(err error, wait time.Duration) {
	told := fmt.Sprintf("(%v; asking once more in %v, nothing is run again)", err, wait)
	t.print("", append([]string{"\n"}, wrap(told)...)...)
}

// print prints texts beside a label, each on a line, or on several. Whoever
// cannot be written to is told by SIGPIPE.
func (t *transcript) print(label string, texts ...string) {
	var b strings.Builder
	for _, text := range texts {
		for line := range strings.Lines(text) {
			fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-*s%s", column, label, line), " \n"))
			label = ""
		}
	}
	_, _ = io.WriteString(t.out, b.String())
}

// wrap breaks a text between words into lines that fit beside a label.
func wrap(text string) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width-column {
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
