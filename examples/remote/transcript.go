package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	width  = 80 // runes of a line
	column = 9  // where the text beside a label begins
)

// A result is what the show reads of what a model reads.
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
	} `json:"processes"` // of a list
}

// A transcript prints what happens.
type transcript struct {
	out io.Writer
	err error // of the first write that failed
}

// call prints a tool call, with a command as a person would type it.
func (t *transcript) call(who, tool string, arguments map[string]any) {
	head := tool
	var command []string
	var names []string
	for name := range arguments {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "command" {
			command = strings.Split(fmt.Sprint(arguments[name]), "\n")
			command[0] = "$ " + command[0]
			continue
		}
		head += fmt.Sprintf(" %s=%v", name, arguments[name])
	}
	t.print(who, append(wrap(head), strings.Join(command, "\n> "))...)
}

// answer prints a result: how the process stands, its output behind bars, and
// the words of the tool.
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
		lines = append(lines, wrap("error: "+res.Error)...)
	}
	if res.Note != "" {
		lines = append(lines, wrap("note: "+res.Note)...)
	}
	t.print("", lines...)
}

// space prints an empty line.
func (t *transcript) space() { t.print("", "\n") }

// print prints texts beside a label, each on a line, or on several.
func (t *transcript) print(label string, texts ...string) {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if t.err == nil {
				line = fmt.Sprintf("%-*s%s", column, label, line)
				_, t.err = fmt.Fprintln(t.out, strings.TrimRight(line, " \n"))
			}
			label = ""
		}
	}
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
