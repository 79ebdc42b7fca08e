package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/dialogue"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	width   = 79      // runes of a live line: a line that wraps cannot be drawn again
	maxLine = 4 << 10 // bytes that are kept of an unfinished line
)

// A screen shows a session. On a terminal it has one line that it draws again
// and again. Elsewhere it prints line by line. It is safe for concurrent use.
type screen struct {
	tty        bool
	gone       func()               // called once the screen has no reader
	transcript *dialogue.Transcript // of the calls and their results, on this screen

	mu         sync.Mutex // guards the fields below
	out        io.Writer
	inText     bool              // the model is in the middle of a line
	drawn      bool              // the live line is on the screen
	newest     string            // the live line that was shown last
	unfinished map[string]string // the last line of a process, by its ID
	awaited    map[string]bool   // what calls wait for: see call
}

func newScreen(out io.Writer, tty bool) *screen {
	s := &screen{out: out, tty: tty, gone: func() {}, unfinished: make(map[string]string), awaited: make(map[string]bool)}
	s.transcript = &dialogue.Transcript{Out: s, Column: 8}
	return s
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
	line = "  ~ " + strings.ReplaceAll(dialogue.Plain(line), "\t", " ")
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
	words = dialogue.Plain(words)
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

// call shows a call. Until result, the output of the process is shown that the call
// names, or of commands in the foreground if it names none.
func (s *screen) call(call toolset.Call) (process string) {
	s.transcript.Space()
	s.transcript.Call("call", call.Name, call.Arguments)
	var arguments struct {
		ProcessID string `json:"process_id"`
	}
	_ = json.Unmarshal(call.Arguments, &arguments) // the tool itself reports an error
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaited[arguments.ProcessID] = true
	return arguments.ProcessID
}

// result shows the result of a call. The model reads more of its output.
func (s *screen) result(process string, res toolset.Result) {
	s.mu.Lock()
	delete(s.awaited, process)
	s.mu.Unlock()
	s.transcript.Result("result", res.Content)
}

// note shows a text that is no part of the conversation.
func (s *screen) note(format string, args ...any) {
	s.print("\n(" + dialogue.Plain(fmt.Sprintf(format, args...)) + ")\n")
}

// ask shows that the user can type a prompt.
func (s *screen) ask() {
	if s.tty {
		s.print("\n> ")
	}
}

// Write implements io.Writer for the transcript. The error is always nil.
func (s *screen) Write(p []byte) (int, error) {
	s.print(string(p))
	return len(p), nil
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
