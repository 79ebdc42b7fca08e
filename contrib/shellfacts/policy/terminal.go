package policy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"golang.org/x/xerrors"
)

// A Terminal asks a person who reads out and writes lines to in. It is for one
// question at a time.
//
// What was typed before a question was printed does not answer it: Ask drops what has been
// read from in and, if in is a terminal, what waits there. Of a pipe or a file, what has
// not been read yet counts as typed later.
type Terminal struct {
	source  io.Reader
	in      *bufio.Reader
	out     io.Writer
	lines   chan line
	reading bool // a line is being read
	stale   bool // since a question that was withdrawn
}

type line struct {
	text string
	err  error
}

// NewTerminal returns a Terminal. It must be the only reader of in.
func NewTerminal(in io.Reader, out io.Writer) *Terminal {
	return &Terminal{source: in, in: bufio.NewReader(in), out: out, lines: make(chan line, 1)}
}

// Ask is an [Asker]. Only y, yes, a and always allow; the end of the input is an
// error.
func (t *Terminal) Ask(ctx context.Context, question string, always bool) (Answer, error) {
	choices := "[y]es, [n]o"
	if always {
		choices = "[y]es, [a]lways, [n]o"
	}
	for {
		t.forget()
		if _, err := fmt.Fprintf(t.out, "\n%s\n%s? ", question, choices); err != nil {
			return No, xerrors.Errorf("nobody can be asked: %w", err)
		}
		if !t.reading {
			t.reading = true
			go t.read()
		}
		select {
		case <-ctx.Done():
			t.stale = true
			return No, ctx.Err()
		case l := <-t.lines:
			t.reading = false
			if l.err != nil {
				return No, xerrors.Errorf("nobody answers: %w", l.err)
			}
			if t.stale { // it may be the answer to the question before
				t.stale = false
				continue
			}
			switch strings.ToLower(strings.TrimSpace(l.text)) {
			case "y", "yes":
				return Once, nil
			case "a", "always":
				if always {
					return Always, nil
				}
			}
			return No, nil
		}
	}
}

// forget drops what has been typed.
func (t *Terminal) forget() {
	if conn, ok := t.source.(syscall.Conn); ok {
		if raw, err := conn.SyscallConn(); err == nil {
			_ = raw.Control(flush) // what is no terminal has nothing to drop
		}
	}
	if !t.reading { // else the buffer belongs to read
		_, _ = t.in.Discard(t.in.Buffered())
	}
}

// read reads one line for Ask. Because a read of a terminal cannot be canceled,
// nothing waits for it to end: a later Ask takes the line, or the program ends.
func (t *Terminal) read() {
	text, err := t.in.ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = errors.New("the input has ended")
	}
	t.lines <- line{text, err}
}
