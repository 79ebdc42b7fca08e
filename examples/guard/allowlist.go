// Package guard has two policies for toolset.Options.Approve, to copy and to change.
//
// An [AllowList] asks a person for everything that is not in the list. It saves a person
// from questions and from mistakes. It keeps no command from doing harm, since a program
// may do more than the text of a command tells.
//
// A [Boxed] lets every command run in a sandbox, and asks a person about one that the
// sandbox has stopped.
package guard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/shellfacts"
	"github.com/toolproc/toolproc/chattool/toolset"
)

// ReadOnly returns names of programs that only read, unless their options say
// otherwise. Then the facts of a command have a write, another program, or are not
// complete.
func ReadOnly() []string {
	return []string{
		"cat", "cd", "cut", "du", "echo", "false", "find", "grep", "head", "ls", "printf",
		"pwd", "sed", "sort", "stat", "tail", "test", "tr", "true", "uniq", "wc", "[",
	}
}

// An Answer is that of a person. The zero value is No.
type Answer int

// The answers. Always is for the same part of each later command.
const (
	No Answer = iota
	Once
	Always
)

// An Asker asks a person. If always is false, the answer counts once. An error
// is a No.
type Asker func(ctx context.Context, question string, always bool) (Answer, error)

// An AllowList runs some programs without a question. It is safe for concurrent
// use, and asks one question at a time.
type AllowList struct {
	programs []string
	ask      Asker
	turn     chan struct{}   // holds an element while a question is asked
	always   map[string]bool // keys of parts; belongs to the holder of turn
}

// NewAllowList returns an AllowList of programs by their exact names.
func NewAllowList(programs []string, ask Asker) *AllowList {
	return &AllowList{programs: slices.Clone(programs), ask: ask, turn: make(chan struct{}, 1), always: make(map[string]bool)}
}

// Approve is for [toolset.Options]. It asks about each part of a command by
// itself.
func (l *AllowList) Approve(ctx context.Context, q toolset.Question) (toolset.Verdict, error) {
	parts := l.parts(q)
	if len(parts) == 0 {
		return toolset.Verdict{}, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return toolset.Verdict{}, ctx.Err()
	}
	for _, p := range parts {
		if p.key != "" && l.always[p.key] {
			continue
		}
		answer, err := l.ask(ctx, p.text, p.key != "")
		switch {
		case err != nil:
			return toolset.Verdict{}, err
		case answer == Always && p.key != "":
			l.always[p.key] = true
		case answer != Once:
			return toolset.Verdict{Deny: true, Reason: "the user said no"}, nil
		}
	}
	return toolset.Verdict{}, nil
}

// A part is something to ask about. key is "" if an answer counts once.
type part struct{ text, key string }

// parts returns the parts of a question that the list does not allow.
func (l *AllowList) parts(q toolset.Question) (parts []part) {
	if !q.Facts.Complete {
		return []part{{text: whole(q)}}
	}
	within := ""
	if q.Command != "" {
		within = "\n  in " + strconv.Quote(q.Command) + in(q.WorkDir)
	}
	for _, p := range q.Facts.Programs {
		if l.allows(p) {
			continue
		}
		words := append(append(slices.Clone(p.Through), p.Name), p.Args...)
		key := keyOf("run", q.WorkDir, words)
		if !p.Known || p.Files || !p.Literal {
			// What it does may depend on the rest of the command: a cd, a
			// variable, a file that another part writes, the stdin of a pipe.
			key = keyOf("run", q.WorkDir, append(words, q.Command))
		}
		parts = append(parts, part{"Run " + quoted(words) + within, key})
	}
	for _, file := range q.Facts.Writes {
		key := keyOf("write", q.WorkDir, []string{file.Path})
		if !file.Literal || file.Path == "" {
			key = ""
		}
		name := file.Path
		if name == "" {
			name = file.Name
		}
		parts = append(parts, part{"Change the file " + strconv.Quote(name) + within, key})
	}
	return parts
}

// allows reports whether a program, and those that start it, are in the list and
// do no more than their arguments say.
func (l *AllowList) allows(p shellfacts.Program) bool {
	return p.Known && !p.Files && slices.Contains(l.programs, p.Name) &&
		!slices.ContainsFunc(p.Through, func(name string) bool { return !slices.Contains(l.programs, name) })
}

// whole asks about a call whose parts are not known.
func whole(q toolset.Question) string {
	text := "Run " + strconv.Quote(q.Command) + in(q.WorkDir)
	if q.ProcessID != "" {
		text = fmt.Sprintf("%s, with %s", q.Call.Name, strconv.Quote(string(q.Call.Arguments)))
	}
	for _, why := range q.Facts.Why {
		text += "\n  because " + strings.Trim(strconv.Quote(why), `"`)
	}
	return text
}

func in(dir string) string {
	if dir == "" {
		return ""
	}
	return " in directory " + strconv.Quote(dir)
}

// quoted returns words without anything that a terminal would obey.
func quoted(words []string) string {
	var each []string
	for _, word := range words {
		each = append(each, strconv.Quote(word))
	}
	return strings.Join(each, " ")
}

func keyOf(kind, dir string, words []string) string {
	key, _ := json.Marshal(append([]string{kind, dir}, words...)) // strings alone: no error
	return string(key)
}

// A Terminal asks a person who reads out and writes lines to in. It is for one
// question at a time.
type Terminal struct {
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

// NewTerminal returns a Terminal. Nobody else may read from in.
func NewTerminal(in io.Reader, out io.Writer) *Terminal {
	return &Terminal{in: bufio.NewReader(in), out: out, lines: make(chan line, 1)}
}

// Ask is an [Asker]. Only y, yes, a and always allow; the end of the input is an
// error.
func (t *Terminal) Ask(ctx context.Context, question string, always bool) (Answer, error) {
	choices := "[y]es, [n]o"
	if always {
		choices = "[y]es, [a]lways, [n]o"
	}
	for {
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

// read reads one line for Ask. A read of a terminal cannot be given up, so
// nobody waits for it: a later Ask takes the line, or the program ends.
func (t *Terminal) read() {
	text, err := t.in.ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = errors.New("the input has ended")
	}
	t.lines <- line{text, err}
}
