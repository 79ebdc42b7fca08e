package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"charm.land/fantasy"

	"github.com/toolproc/toolproc/examples/internal/newest"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	width = 79 // runes of a live line: a line that wraps cannot be drawn again
	ends  = 5  // lines that are shown of the beginning and of the end of a long output
)

// A screen shows a session. On a terminal it has one line that it draws again
// and again. Elsewhere it prints line by line. It is safe for concurrent use.
type screen struct {
	tty  bool
	gone func() // called once the screen has no reader

	mu     sync.Mutex // guards the fields below
	out    io.Writer
	inText bool // the model is in the middle of a line
	drawn  bool // the live line is on the screen
}

func newScreen(out io.Writer, tty bool) *screen { return &screen{out: out, tty: tty, gone: func() {}} }

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// pace returns how long to wait between two live lines.
func (s *screen) pace() time.Duration {
	if s.tty {
		return 100 * time.Millisecond
	}
	return time.Second
}

// live shows the newest line of a command's output.
func (s *screen) live(line string) {
	line = "  ~ " + strings.ReplaceAll(newest.Plain(line), "\t", " ")
	if n := utf8.RuneCountInString(line); n > width {
		line = string([]rune(line)[:width-1]) + "…"
	}
	if !s.tty {
		line += "\n"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newLine(line)
	s.drawn = s.tty
}

// text shows words of the model as they come.
func (s *screen) text(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	words = newest.Plain(words)
	if words == "" {
		return
	}
	if !s.inText {
		words = "\n" + words
	}
	s.write(words)
	s.inText = true
}

// endText ends the current line of the model.
func (s *screen) endText() { s.print("") }

// call shows a call, with a command as a person would type it, and without a
// password that is typed.
func (s *screen) call(call fantasy.ToolCall) {
	var arguments map[string]any
	if json.Unmarshal([]byte(call.Input), &arguments) != nil {
		s.print(fmt.Sprintf("\n%s %s\n", word(call.Name), word(call.Input)))
		return
	}
	var names []string
	for name := range arguments {
		names = append(names, name)
	}
	slices.Sort(names)
	head, command := word(call.Name), ""
	if secret := arguments["secret"]; secret != nil && secret != false {
		arguments["text"] = "(hidden)"
	}
	for _, name := range names {
		value := fmt.Sprint(arguments[name])
		if name == "command" {
			command = "$ " + strings.ReplaceAll(newest.Plain(value), "\n", "\n> ") + "\n"
			continue
		}
		head += " " + word(name) + "=" + word(value)
	}
	s.print("\n" + head + "\n" + command)
}

// result shows the result of a call. The model reads more of it.
func (s *screen) result(call fantasy.ToolCall, response fantasy.ToolResponse) {
	var res struct {
		Output   string `json:"output"`
		ExitCode *int   `json:"exit_code"`
		State    string `json:"state"`
		Duration string `json:"duration"`
		Error    string `json:"error"`
		ID       string `json:"process_id"`
		List     []struct {
			ID      string `json:"process_id"`
			State   string `json:"state"`
			Command string `json:"command"`
		} `json:"processes"`
	}
	if json.Unmarshal([]byte(response.Content), &res) != nil {
		res.Error = response.Content
	}
	var b strings.Builder
	lines := slices.Collect(strings.Lines(newest.Plain(res.Output)))
	for i, line := range lines {
		switch {
		case len(lines) <= 2*ends || i < ends || i >= len(lines)-ends:
			fmt.Fprintf(&b, "  | %s\n", strings.TrimSuffix(line, "\n"))
		case i == ends:
			fmt.Fprintf(&b, "    (%d more lines)\n", len(lines)-2*ends)
		}
	}
	for _, p := range res.List {
		command, _, _ := strings.Cut(newest.Plain(p.Command), "\n")
		fmt.Fprintf(&b, "  | %s %-8s %s\n", p.ID, p.State, command)
	}
	fmt.Fprintf(&b, "  = %s", call.Name)
	if res.State != "" {
		fmt.Fprintf(&b, ": %s after %s", res.State, cmp.Or(res.Duration, "0s"))
	}
	if res.ExitCode != nil {
		fmt.Fprintf(&b, ", exit code %d", *res.ExitCode)
	}
	if res.ID != "" {
		fmt.Fprintf(&b, ", process %s", res.ID)
	}
	if res.Error != "" {
		fmt.Fprintf(&b, ": %s", strings.ReplaceAll(newest.Plain(res.Error), "\n", "\n    "))
	}
	s.print(b.String() + "\n")
}

// note shows a text that is no part of the conversation.
func (s *screen) note(format string, args ...any) {
	s.print("\n(" + newest.Plain(fmt.Sprintf(format, args...)) + ")\n")
}

// ask shows that the user can type a prompt.
func (s *screen) ask() {
	if s.tty {
		s.print("\n> ")
	}
}

// running lists the processes that live, and says what becomes of them.
func (s *screen) running(manager procmgr.Manager, what string) {
	page, err := manager.List(context.Background(), procmgr.ListRequest{})
	if err != nil {
		s.note("%v", err)
	}
	for _, p := range page.Processes {
		if p.State != procmgr.Exited {
			s.print(fmt.Sprintf("%s: process %s, %s: %s\n", what, p.ID, p.State, strconv.Quote(p.Command)))
		}
	}
}

// print shows a text on lines of its own.
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newLine(text)
}

// newLine writes a text at the start of a line. The caller holds mu.
func (s *screen) newLine(text string) {
	if s.inText {
		text = "\n" + text
		s.inText = false
	}
	s.write(text)
}

// write writes over the live line. The caller holds mu.
func (s *screen) write(text string) {
	if s.drawn {
		text = "\r\x1b[K" + text
		s.drawn = false
	}
	if _, err := io.WriteString(s.out, text); err != nil {
		s.gone()
	}
}

// word returns a text as a part of a line. It is quoted if it could be taken for
// more than one part, or for another line.
func word(text string) string {
	if strings.ContainsFunc(text, unicode.IsSpace) || strings.Contains(text, `"`) {
		return strconv.Quote(text)
	}
	return newest.Plain(text)
}
