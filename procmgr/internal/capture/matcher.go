package capture

import (
	"bytes"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/linediff"
)

const (
	maxLine   = 4096 // a pattern is matched against this many first bytes of a line
	maxQuote  = 300  // a Found quotes at most this many bytes of the line
	maxNotice = 500  // so many if it is the line of a Notify
)

// A Matcher looks for a pattern in a stream, line by line, as the output
// arrives. matched is closed at the first match.
//
// One goroutine at a time searches with it: the one that joins it to a stream,
// then the stream's writer, and the one that takes it back.
type Matcher struct {
	expression // re is nil for the pattern ".", which any new output matches

	from    int64  // the offset from which the caller reads; only used if re is nil
	at      int64  // offset of the next byte to feed
	start   int64  // offset at which the unfinished line begins
	line    []byte // the first bytes of the unfinished line, at most maxLine
	shown   []byte // the held-back text at the last look; if re is nil, at the first look
	shownAt int64  // at of the last look
	after   *Mark  // the text that it shows is no match; nil if any text may be
	skipped int64  // bytes that were never searched: in a gap, or behind maxLine
	found   Found  // the matched line; stays empty if re is nil
	done    bool   // the search has ended with a match
	quote   int    // at most this many bytes of the line are in found
	matched chan struct{}

	busy bool // the stream's writer searches with it; the stream's mu guards it
}

// NewMatcher compiles a pattern. It returns nil for an empty pattern.
func NewMatcher(pattern string) (*Matcher, error) {
	if pattern == "." {
		// See OutputRequest.Until: any new output matches, even an empty line.
		return &Matcher{matched: make(chan struct{})}, nil
	}
	return newMatcher(pattern, maxQuote)
}

// NewNotice compiles a pattern for [Stream.Notify]. It returns nil for an empty
// pattern. "." is a pattern like any other: it matches the first line that is
// not empty.
func NewNotice(pattern string) (*Matcher, error) { return newMatcher(pattern, maxNotice) }

func newMatcher(pattern string, quote int) (*Matcher, error) {
	if pattern == "" {
		return nil, nil
	}
	e, err := compilePattern(pattern)
	if err != nil {
		return nil, err
	}
	return &Matcher{expression: e, quote: quote, matched: make(chan struct{})}, nil
}

// Matched returns a channel that is closed at the first match. If m is nil, the
// channel is nil, and a receive from it waits forever.
func (m *Matcher) Matched() <-chan struct{} {
	if m == nil {
		return nil
	}
	return m.matched
}

// A Mark is the end of a stream at one moment.
type Mark struct {
	Offset int64  // at which a snapshot ended
	Total  int64  // bytes of the stream
	Live   []byte // the text that was held back behind them
}

// shows reports whether a text that is held back at an offset was there already
// at the mark.
func (k *Mark) shows(at int64, pending []byte) bool {
	return k != nil && at == k.Total && bytes.Equal(pending, k.Live)
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

// over reports whether the search has ended with a match. Any goroutine may
// call it.
func (m *Matcher) over() bool {
	select {
	case <-m.matched:
		return true
	default:
		return false
	}
}

// feed takes the next bytes of the stream.
func (m *Matcher) feed(p []byte) {
	for len(p) > 0 && !m.done && m.re != nil {
		n := 0
		if m.at == m.start { // no line has begun
			n = shortLines(p)
		}
		if n > 0 {
			m.feedLines(p[:n])
		} else {
			n = m.feedPart(p)
		}
		p = p[n:]
	}
}

// shortLines returns the length of the whole lines at the beginning of p, up to
// the first that is longer than maxLine. It looks only at the last line in each
// maxLine bytes.
func shortLines(p []byte) (n int) {
	for {
		lines := bytes.LastIndexByte(p[n:min(len(p), n+maxLine+1)], '\n') + 1
		if lines == 0 {
			return n
		}
		n += lines
	}
}

// feedLines takes whole lines, none of them longer than maxLine.
func (m *Matcher) feedLines(p []byte) {
	finder := m.literals.in(p)
	defer finders.Put(finder)
	for at := 0; at < len(p); {
		hit := finder.next(at)
		if hit < 0 {
			break
		}
		at += bytes.LastIndexByte(p[at:hit], '\n') + 1
		line, _, _ := bytes.Cut(p[at:], []byte{'\n'})
		if m.matches(line, m.at+int64(at)) {
			return
		}
		at += len(line) + 1
	}
	m.at += int64(len(p))
	m.start = m.at
}

// feedPart takes the rest of a line, or as much of it as there is. It returns
// how many bytes that is.
func (m *Matcher) feedPart(p []byte) int {
	part, rest, ended := bytes.Cut(p, []byte{'\n'})
	first := part[:min(len(part), maxLine-len(m.line))]
	if len(m.line) < maxLine { // or the pattern has been tried on all that counts
		m.line = append(m.line, first...)
		if m.mayMatch(m.line) && m.matches(m.line, m.start) {
			return len(p)
		}
	}
	taken := len(p) - len(rest)
	m.skipped += int64(len(part) - len(first))
	m.at += int64(taken)
	if ended {
		m.line = m.line[:0]
		m.start = m.at
	}
	return taken
}

// mayMatch reports false if the pattern certainly doesn't match a line.
func (m *Matcher) mayMatch(line []byte) bool {
	finder := m.literals.in(line)
	defer finders.Put(finder)
	return finder.next(0) >= 0
}

// look matches the pattern against the text that is held back: the part of the
// newest line that may still be replaced, such as a progress bar or a prompt.
// If re is nil, look matches when a caller that reads from offset from can see
// new text: bytes behind from, or another text that is held back.
func (m *Matcher) look(visible func() int64, pending []byte) {
	switch {
	case m.done:
	case m.re != nil:
		if m.shownAt != m.at || !bytes.Equal(pending, m.shown) {
			m.peek(pending)
			m.shown, m.shownAt = append(m.shown[:0], pending...), m.at
		}
	case visible() > m.from || !bytes.Equal(pending, m.shown):
		m.match()
	}
}

// peek matches the pattern against the text that is held back. This text
// continues the unfinished line. If there is none, it begins a new line.
func (m *Matcher) peek(pending []byte) {
	if m.done || m.re == nil || len(pending) == 0 || m.after.shows(m.at, pending) {
		return
	}
	line := append(bytes.Clone(m.line), pending...)
	start := m.start
	for part := range bytes.SplitSeq(line, []byte{'\n'}) {
		part := part[:min(len(part), maxLine)]
		if len(part) > 0 && m.mayMatch(part) && m.matches(part, start) {
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
	m.found = Found{Line: linediff.Excerpt(line, m.re.FindIndex(line)[0], m.quote), Offset: start}
	m.match()
	return true
}

// match ends the search. It is called once.
func (m *Matcher) match() {
	m.done = true
	m.line = nil
	close(m.matched)
}

// A Found is the line that a pattern has matched.
type Found struct {
	Line   string // valid UTF-8; if it is long, the part around the match
	Offset int64  // the offset of the line's beginning
}
