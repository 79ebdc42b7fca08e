package capture

import (
	"bytes"
	"regexp"

	"github.com/toolproc/toolproc/headtail"
)

const (
	maxLine   = 4096 // a pattern is matched against this many first bytes of a line
	maxQuote  = 300  // a Found quotes at most this many bytes of the line
	maxNotice = 500  // so many if it is the line of a Notify
)

// A Matcher looks for a pattern in a stream, line by line, as the output
// arrives. The stream's lock guards it. matched is closed at the first match.
type Matcher struct {
	re      *regexp.Regexp // nil for the pattern ".", which any new output matches
	from    int64          // the offset from which the caller reads; only used if re is nil
	at      int64          // offset of the next byte to feed
	start   int64          // offset at which the unfinished line begins
	line    []byte         // the first bytes of the unfinished line, at most maxLine
	shown   []byte         // the held-back text at the last look; if re is nil, at the first look
	skipped int64          // bytes that were never searched: in a gap, or behind maxLine
	found   Found          // the matched line; stays empty if re is nil
	done    bool           // the search has ended with a match
	quote   int            // at most this many bytes of the line are in found
	matched chan struct{}
}

// NewMatcher compiles a pattern. It returns nil for an empty pattern.
func NewMatcher(pattern string) (*Matcher, error) {
	if pattern == "" {
		return nil, nil
	}
	m := &Matcher{quote: maxQuote, matched: make(chan struct{})}
	if pattern == "." {
		return m, nil // see OutputRequest.Until: any new output matches, even an empty line
	}
	var err error
	m.re, err = compilePattern(pattern)
	return m, err
}

// NewNotice compiles a pattern for [Stream.Notify]. It returns nil for an empty
// pattern. "." is a pattern like any other: it matches the first line that is
// not empty.
func NewNotice(pattern string) (*Matcher, error) {
	if pattern == "" {
		return nil, nil
	}
	re, err := compilePattern(pattern)
	if err != nil {
		return nil, err
	}
	return &Matcher{re: re, quote: maxNotice, matched: make(chan struct{})}, nil
}

// Matched returns a channel that is closed at the first match. If m is nil, the
// channel is nil, and a receive from it waits forever.
func (m *Matcher) Matched() <-chan struct{} {
	if m == nil {
		return nil
	}
	return m.matched
}

// begin feeds the text that the window has already. A line ends at a gap.
func (m *Matcher) begin(s headtail.Snapshot) {
	m.feed(s.Head)
	if s.Gap > 0 && !m.done {
		m.line = m.line[:0] // the text before a gap and the text after it are not one line
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
		full := len(m.line) == maxLine // the pattern was already matched against its first bytes
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

// look matches the pattern against the text that is held back: the part of the
// newest line that may still be replaced, such as a progress bar or a prompt.
// If re is nil, look matches when a caller that reads from offset from can see
// new text: bytes behind from, or another text that is held back.
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

// peek matches the pattern against the text that is held back. This text
// continues the unfinished line. If there is none, it begins a new line.
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
		// Every line after the first begins within the held-back text.
		line = line[min(len(part)+1, len(line)):]
		start = m.at + int64(len(pending)-len(line))
	}
}

// matches reports whether the pattern matches a line. If it does, matches notes
// the line with start, the offset at which it begins, and ends the search.
func (m *Matcher) matches(line []byte, start int64) bool {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if !m.re.Match(line) {
		return false
	}
	m.found = Found{Line: QuoteAround(line, m.re.FindIndex(line)[0], m.quote), Offset: start}
	m.match()
	return true
}

// match ends the search. It is called once.
func (m *Matcher) match() {
	m.done = true
	m.line = nil
	close(m.matched)
}
