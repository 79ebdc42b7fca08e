package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/toolproc/toolproc/examples/internal/dialogue"
)

const (
	width                  = dialogue.Width
	column dialogue.Column = 9
)

// A result holds the fields of a tool result that the show reads.
type result struct {
	Success   bool   `json:"success"`
	Output    string `json:"output"`
	ExitCode  *int   `json:"exit_code"`
	State     string `json:"state"`
	Error     string `json:"error"`
	Note      string `json:"note"`
	Next      int64  `json:"next_offset"`
	Processes []struct {
		ID      string `json:"process_id"`
		State   string `json:"state"`
		Command string `json:"command"`
	} `json:"processes"` // of a list of processes
}

// A transcript prints the events of the show.
type transcript struct {
	out io.Writer
	err error // the first error of a write
}

// call prints a tool call, with a command as a person would type it.
func (t *transcript) call(who, tool string, arguments json.RawMessage) error {
	lines, err := column.Call(tool, arguments)
	t.print(who, lines...)
	return err
}

// answer prints a result: the state of the process, its output after bars, and
// the messages of the tool.
func (t *transcript) answer(res result) {
	var lines []string
	if res.State != "" {
		head := "-> " + res.State
		if res.ExitCode != nil {
			head += fmt.Sprintf(", exit code %d", *res.ExitCode)
		}
		lines = append(lines, head)
	}
	for line := range strings.Lines(res.Output) {
		lines = append(lines, "| "+line)
	}
	for _, p := range res.Processes {
		command, _, _ := strings.Cut(p.Command, "\n")
		lines = append(lines, fmt.Sprintf("| %s %s: %.40s", p.ID, p.State, command))
	}
	if res.Error != "" {
		lines = append(lines, column.Wrap("error: "+res.Error)...)
	}
	if res.Note != "" {
		lines = append(lines, column.Wrap("note: "+res.Note)...)
	}
	t.print("", lines...)
}

// space prints an empty line.
func (t *transcript) space() { t.print("", "\n") }

// print prints texts beside a label, until a write fails.
func (t *transcript) print(label string, texts ...string) {
	if t.err == nil {
		t.err = column.Print(t.out, label, texts...)
	}
}
