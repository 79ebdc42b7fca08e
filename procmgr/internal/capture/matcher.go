package capture

import (
	"bytes"
	"regexp"
	"regexp/syntax"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

const (
	maxPattern      = 256  // bytes of a pattern
	maxInstructions = 1000 // instructions that a pattern may compile to
	maxLine         = 4096 // bytes of each line that a pattern is matched against
)

// A Matcher looks for a pattern in a stream, line by line, as it arrives. The
// stream's lock guards it; matched is closed at the first match.
type Matcher struct {
	re      *regexp.Regexp // nil: anything that can be read from from on matches
	from    int64
	line    []byte // the unfinished line, at most maxLine bytes
	shown   []byte // what was held back when the matcher began
	done    bool
	matched chan struct{}
}

// NewMatcher compiles a pattern; nil for none.
func NewMatcher(pattern string) (*Matcher, error) {
	if pattern == "" {
		return nil, nil
	}
	m := &Matcher{matched: make(chan struct{})}
	if pattern == "." {
		return m, nil // documented as any new output, an empty line included
	}
	if len(pattern) > maxPattern {
		return nil, xerrors.Errorf("the pattern has %d bytes, at most %d are allowed; look for a shorter text: %w", len(pattern), maxPattern, sentinel.ErrInvalid)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, xerrors.Errorf("the pattern %q is no RE2 expression (%v); escape special characters with a backslash: %w", pattern, err, sentinel.ErrInvalid)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, xerrors.Errorf("the pattern %q is no RE2 expression (%v): %w", pattern, err, sentinel.ErrInvalid)
	}
	if len(prog.Inst) > maxInstructions {
		return nil, xerrors.Errorf("the pattern %q compiles to %d instructions, at most %d are allowed; use smaller repetitions: %w",
			pattern, len(prog.Inst), maxInstructions, sentinel.ErrInvalid)
	}
	if m.re, err = regexp.Compile(pattern); err != nil {
		return nil, xerrors.Errorf("the pattern %q is no RE2 expression (%v): %w", pattern, err, sentinel.ErrInvalid)
	}
	return m, nil
}

// Matched is closed at the first match; nil, so that it never is, for no matcher.
func (m *Matcher) Matched() <-chan struct{} {
	if m == nil {
		return nil
	}
	return m.matched
}

// begin feeds what is already there.
func (m *Matcher) begin(s headtail.Snapshot) {
	m.feed(s.Head)
	if s.Gap > 0 {
		m.line = m.line[:0] // the bytes on both sides of a gap are no line
	}
	m.feed(s.Tail)
}

// feed takes the next bytes of the stream.
func (m *Matcher) feed(p []byte) {
	if len(p) == 0 || m.done || m.re == nil {
		return
	}
	for {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		full := len(m.line) == maxLine // its first bytes have been looked at
		switch {
		case full:
		case len(m.line) == 0 && ended:
			// A whole line in one piece needs no copy.
			if m.re.Match(bytes.TrimSuffix(line[:min(len(line), maxLine)], []byte{'\r'})) {
				m.match()
				return
			}
		default:
			m.line = append(m.line, line[:min(len(line), maxLine-len(m.line))]...)
			if (ended || len(m.line) > 0) && m.re.Match(bytes.TrimSuffix(m.line, []byte{'\r'})) {
				m.match()
				return
			}
		}
		if !ended {
			return
		}
		m.line = m.line[:0]
		p = rest
		if len(p) == 0 {
			return
		}
	}
}

// look looks at what is held back of the newest line, a progress bar or a
// prompt, which may yet be replaced. The matcher of any output looks at what a
// reader can see.
func (m *Matcher) look(visible func() int64, pending []byte) {
	switch {
	case m.done:
	case m.re != nil:
		if !bytes.Equal(pending, m.shown) {
			m.peek(pending)
			m.shown = append(m.shown[:0], pending...)
		}
	case visible() > m.from || !bytes.Equal(pending, m.shown):
		m.match()
	}
}

// peek matches what is held back: it goes on with the unfinished line, or
// begins a new one.
func (m *Matcher) peek(pending []byte) {
	if m.done || m.re == nil || len(pending) == 0 {
		return
	}
	line := append(bytes.Clone(m.line), pending...)
	for part := range bytes.SplitSeq(line, []byte{'\n'}) {
		if len(part) > 0 && m.re.Match(part[:min(len(part), maxLine)]) {
			m.match()
			return
		}
	}
}

func (m *Matcher) match() {
	m.done = true
	m.line = nil
	close(m.matched)
}
