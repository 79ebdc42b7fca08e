package capture

import (
	"bytes"
	"regexp"

	"github.com/toolproc/toolproc/headtail"
)

const (
	maxLine  = 4096 // bytes of each line that a pattern is matched against
	maxQuote = 300  // bytes of the matched line that are told
)

// A Matcher looks for a pattern in a stream, line by line, as the output
// arrives. The stream's lock guards it. matched is closed at the first match.
type Matcher struct {
	re      *regexp.Regexp // nil: any text that can be read from offset from on matches
	from    int64
	at      int64  // offset of the next byte that it is fed
	start   int64  // offset of the unfinished line
	line    []byte // the unfinished line, at most maxLine bytes
	shown   []byte // the held-back text at the last look, or at the first if re is nil
	skipped int64  // how many bytes the pattern was not matched against
	found   Found  // set when done is
	done    bool
	matched chan struct{}
}

// NewMatcher compiles a pattern. It returns nil for an empty pattern.
func NewMatcher(pattern string) (*Matcher, error) {
	if pattern == "" {
		return nil, nil
	}
	m := &Matcher{matched: make(chan struct{})}
	if pattern == "." {
		return m, nil // documented as any new output, an empty line included
	}
	var err error
	m.re, err = compilePattern(pattern)
	return m, err
}

// Matched returns a channel that is closed at the first match. If there is no
// matcher, the channel is nil, and so is never closed.
func (m *Matcher) Matched() <-chan struct{} {
	if m == nil {
		return nil
	}
	return m.matched
}

// begin feeds the text that is already there.
func (m *Matcher) begin(s headtail.Snapshot) {
	m.feed(s.Head)
	if s.Gap > 0 && !m.done {
		m.line = m.line[:0] // the bytes on both sides of a gap are no line
		m.at += s.Gap
		m.start = m.at
		m.skipped += s.Gap
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
		first := line[:min(len(line), maxLine-len(m.line))]
		switch {
		case full:
		case len(m.line) == 0 && ended:
			// A whole line in one piece needs no copy.
			if m.matches(first, m.start) {
				return
			}
		default:
			m.line = append(m.line, first...)
			if (ended || len(m.line) > 0) && m.matches(m.line, m.start) {
				return
			}
		}
		m.skipped += int64(len(line) - len(first))
		m.at += int64(len(p) - len(rest))
		if !ended {
			return
		}
		m.line = m.line[:0]
		m.start = m.at
		p = rest
		if len(p) == 0 {
			return
		}
	}
}

// look looks at the part of the newest line that is held back, such as a
// progress bar or a prompt. That text may still be replaced. The matcher for
// any output looks at the text that a reader can see.
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

// peek matches the text that is held back. It continues the unfinished line, or
// begins a new one.
func (m *Matcher) peek(pending []byte) {
	if m.done || m.re == nil || len(pending) == 0 {
		return
	}
	line := append(bytes.Clone(m.line), pending...)
	start := m.start
	for part := range bytes.SplitSeq(line, []byte{'\n'}) {
		if len(part) > 0 && m.matches(part[:min(len(part), maxLine)], start) {
			return
		}
		// The lines behind the first begin within what is held back.
		line = line[min(len(part)+1, len(line)):]
		start = m.at + int64(len(pending)-len(line))
	}
}

// matches reports whether the pattern matches a line that begins at an offset,
// and then ends the search.
func (m *Matcher) matches(line []byte, start int64) bool {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if !m.re.Match(line) {
		return false
	}
	m.found = newFound(line, m.re.FindIndex(line), start)
	m.match()
	return true
}

func (m *Matcher) match() {
	m.done = true
	m.line = nil
	close(m.matched)
}
