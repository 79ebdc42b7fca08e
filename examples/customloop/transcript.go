package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/examples/internal/dialogue"
)

const (
	width                  = dialogue.Width
	column dialogue.Column = 8
	ends                   = 6 // lines that are shown of the beginning and of the end of a long output
)

// A transcript prints a conversation. It leaves out the middle of a long output,
// which the model reads.
type transcript struct {
	out  io.Writer
	gone func() // called if nobody reads the transcript any more
}

func (t *transcript) user(text string) { t.print("user", column.Wrap(text)...) }

// words prints the words of the model.
func (t *transcript) words(text string) {
	t.print("", "\n")
	for paragraph := range strings.Lines(text) {
		t.print("model", column.Wrap(paragraph)...)
	}
}

// call prints a call, with a command as a person would type it.
func (t *transcript) call(c call) {
	arguments := c.Function.Arguments
	var inner string
	if json.Unmarshal(arguments, &inner) == nil {
		arguments = json.RawMessage(inner)
	}
	lines, err := column.Call(c.Function.Name, arguments)
	if err != nil {
		lines = column.Wrap(c.Function.Name + " " + string(arguments))
	}
	t.print("call", lines...)
}

// result prints a result as the model reads it: the state of the process, its
// output after bars, and the messages of the tool.
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
		lines = append(lines, column.Wrap("error: "+res.Error)...)
	}
	if res.Note != "" {
		lines = append(lines, column.Wrap("note: "+res.Note)...)
	}
	t.print("result", lines...)
}

// retry prints why the model is asked again, and when.
func (t *transcript) retry(err error, wait time.Duration) {
	told := fmt.Sprintf("(%v; asking once more in %v, nothing is run again)", err, wait)
	t.print("", append([]string{"\n"}, column.Wrap(told)...)...)
}

// print prints texts beside a label.
func (t *transcript) print(label string, texts ...string) {
	if err := column.Print(t.out, label, texts...); err != nil {
		t.gone()
	}
}
