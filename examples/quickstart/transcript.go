package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"charm.land/fantasy"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/examples/internal/dialogue"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	width                  = dialogue.Width
	column dialogue.Column = 8
)

// A transcript prints a conversation as it goes on. Of a result it leaves out
// the duration and the directory of a command, and the middle of a long output.
type transcript struct {
	mu    sync.Mutex // guards the fields below: the agent may report from several goroutines
	out   io.Writer
	words strings.Builder // the words of the model in its current turn
	runs  int             // number of calls of execute
}

func newTranscript(out io.Writer) *transcript { return &transcript{out: out} }

func (t *transcript) user(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = column.Print(t.out, "user", column.Wrap(text)...) // if the write fails, so does that of the model's first words
}

// text takes words of the model.
func (t *transcript) text(s string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.words.WriteString(s)
	return nil
}

// endText prints the words of the model.
func (t *transcript) endText() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := column.Wrap(t.words.String())
	t.words.Reset()
	if _, err := fmt.Fprintln(t.out); err != nil {
		return err
	}
	return column.Print(t.out, "model", lines...)
}

// call prints a tool call: a command as a person would type it, and the other
// arguments after the name of the tool.
func (t *transcript) call(call fantasy.ToolCallContent) error {
	lines, err := column.Call(call.ToolName, json.RawMessage(call.Input))
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if call.ToolName == "execute" {
		t.runs++
	}
	return column.Print(t.out, "call", lines...)
}

// result prints a tool result as the model reads it.
func (t *transcript) result(res fantasy.ToolResultContent) error {
	content, isError := textOf(res.Result)
	members, err := dialogue.Members(json.RawMessage(content))
	if err != nil {
		return err
	}
	var facts, output, prose []string
	for _, m := range members {
		switch m.Name {
		case "duration", "workdir": // different in each run
		case "output":
			output = shorten(m.Text())
		case "error", "note":
			prose = append(prose, column.Wrap(m.Name+": "+m.Text())...)
		case "processes":
			if output, err = table(m.Value); err != nil {
				return err
			}
		default:
			facts = append(facts, m.Fact())
		}
	}
	label := "result"
	if isError {
		label = "error"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return column.Print(t.out, label, append(append(column.Wrap(strings.Join(facts, " ")), output...), prose...)...)
}

// end prints how many commands ran, and fails if a process is left.
func (t *transcript) end(ctx context.Context, host procmgr.Host) error {
	page, err := host.List(ctx, procmgr.ListRequest{})
	if err != nil {
		return err
	}
	for _, p := range page.Processes {
		if p.State != procmgr.Exited {
			return xerrors.Errorf("process %s is left in state %s: %q", p.ID, p.State, p.Command)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if page.Total != t.runs {
		return xerrors.Errorf("%d commands were asked for, and there are %d processes", t.runs, page.Total)
	}
	_, err = fmt.Fprintf(t.out, "\n%d commands were run, each once; none of them is running.\n", page.Total)
	return err
}

// shorten returns the lines of an output, each after a bar. Of a long output it
// returns both ends, and the marker of the bytes that the tool itself left out.
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
		for { // an empty line prints as well
			fits := cut(line, width-int(column)-2)
			kept = append(kept, "| "+fits)
			if line = line[len(fits):]; line == "" {
				break
			}
		}
	}
	return kept
}

// table returns a line for each process of a list.
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
		lines = append(lines, cut(fmt.Sprintf("| %s  %-9s  %s", p.ProcessID, state, command), width-int(column)))
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
