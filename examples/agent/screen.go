package main

import (
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

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	width   = 79      // runes of a live line: a line that wraps cannot be drawn again
	maxLine = 4 << 10 // bytes that are kept of an unfinished line
	ends    = 5       // lines that are shown of the beginning and of the end of a long output
)

// A screen shows a session. On a terminal it has one line that it draws again
// and again. Elsewhere it prints line by line. It is safe for concurrent use.
type screen struct {
	tty  bool
	gone func() // called once the screen has no reader

	mu         sync.Mutex // guards the fields below
	out        io.Writer
	inText     bool              // the model is in the middle of a line
	drawn      bool              // the live line is on the screen
	newest     string            // the live line that was shown last
	unfinished map[string]string // the last line of a process, by its ID
	awaited    map[string]bool   // what calls wait for: see call
}

func newScreen(out io.Writer, tty bool) *screen {
	return &screen{out: out, tty: tty, gone: func() {}, unfinished: make(map[string]string), awaited: make(map[string]bool)}
}

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

// output shows the newest line of a process that a call waits for. The pause comes
// first: most commands end within it, and their result shows all.
func (s *screen) output(ctx context.Context, _ toolset.Call, chunk procmgr.Chunk) {
	select {
	case <-time.After(s.pace()):
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := chunk.Process.ID
	text := s.unfinished[id] + chunk.Text
	newest := strings.TrimSpace(text + chunk.Live)
	newest = strings.TrimSpace(newest[strings.LastIndexByte(newest, '\n')+1:])
	if chunk.Process.State == procmgr.Exited {
		delete(s.unfinished, id)
		return // the result has the rest
	}
	text = text[strings.LastIndexByte(text, '\n')+1:]
	s.unfinished[id] = text[max(0, len(text)-maxLine):]
	if newest != "" && newest != s.newest && (s.awaited[id] || s.awaited[""] && !chunk.Process.Background) {
		s.newest = newest
		s.live(newest)
	}
}

// live draws a line of output. The caller holds mu.
func (s *screen) live(line string) {
	line = "  ~ " + strings.ReplaceAll(plain(line), "\t", " ")
	if n := utf8.RuneCountInString(line); n > width {
		line = string([]rune(line)[:width-1]) + "…"
	}
	if !s.tty {
		line += "\n"
	}
	s.newLine(line)
	s.drawn = s.tty
}

// text shows words of the model as they come.
func (s *screen) text(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	words = plain(words)
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
// password that is typed. Until result, the output of the process is shown that the
// call names, or of commands in the foreground if it names none.
func (s *screen) call(call toolset.Call) (process string) {
	var arguments map[string]any
	if json.Unmarshal(call.Arguments, &arguments) != nil {
		s.print(fmt.Sprintf("\n%s %s\n", word(call.Name), word(string(call.Arguments))))
		return ""
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
			command = "$ " + strings.ReplaceAll(plain(value), "\n", "\n> ") + "\n"
			continue
		}
		head += " " + word(name) + "=" + word(value)
	}
	s.print("\n" + head + "\n" + command)
	process, _ = arguments["process_id"].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaited[process] = true
	return process
}

// result shows the result of a call. The model reads more of it.
func (s *screen) result(call toolset.Call, process string, res toolset.Result) {
	s.mu.Lock()
	delete(s.awaited, process)
	s.mu.Unlock()
	r, output := res.Report, ""
	if r.Output != nil {
		output = *r.Output
	}
	var b strings.Builder
	lines := slices.Collect(strings.Lines(plain(output)))
	for i, line := range lines {
		switch {
		case len(lines) <= 2*ends || i < ends || i >= len(lines)-ends:
			fmt.Fprintf(&b, "  | %s\n", strings.TrimSuffix(line, "\n"))
		case i == ends:
			fmt.Fprintf(&b, "    (%d more lines)\n", len(lines)-2*ends)
		}
	}
	for _, p := range r.Processes {
		command, _, _ := strings.Cut(plain(p.Command), "\n")
		fmt.Fprintf(&b, "  | %s %-8s %s\n", p.ID, p.State, command)
	}
	fmt.Fprintf(&b, "  = %s", call.Name)
	if r.State != "" {
		fmt.Fprintf(&b, ": %s after %v", r.State, r.Duration.Round(time.Millisecond))
	}
	if r.ExitCode != nil {
		fmt.Fprintf(&b, ", exit code %d", *r.ExitCode)
	}
	if r.ProcessID != "" {
		fmt.Fprintf(&b, ", process %s", r.ProcessID)
	}
	if r.Error != "" {
		fmt.Fprintf(&b, ": %s", strings.ReplaceAll(plain(r.Error), "\n", "\n    "))
	}
	s.print(b.String() + "\n")
}

// note shows a text that is no part of the conversation.
func (s *screen) note(format string, args ...any) {
	s.print("\n(" + plain(fmt.Sprintf(format, args...)) + ")\n")
}

// ask shows that the user can type a prompt.
func (s *screen) ask() {
	if s.tty {
		s.print("\n> ")
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
	return plain(text)
}

// plain removes the characters that make a terminal do more than show text or that
// reverse the order of a line. Line ends and tabs stay.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, text)
}
