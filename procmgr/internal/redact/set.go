// Package redact masks known values in a stream: the secrets of a host, in the
// forms in which tools print them. It guesses nothing by shape, so data that has no
// such value in it stays as it is, byte for byte.
//
// A value is found as it is; in base64 in each of the three places in which it can
// begin, in the standard and the URL alphabet; in hexadecimal digits of either case; and
// encoded by any tool that writes %2B or + in a URL, backslashes in a JSON string, in a
// JSON string within one or in a shell's quotes, or quotes within a shell's quotes.
// Base64 and hexadecimal digits may be broken into lines, which may be indented. In place
// of the value stands [withheld: NAME].
//
// It is no boundary: rev, tr and a program that prints a byte a line get through.
package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
)

const (
	// MinValue is the shortest value that can be masked, in bytes.
	MinValue = 4
	// minForms is from how many bytes on a value is masked in all its forms.
	minForms   = 12
	mostIndent = 16 // blanks behind a line end in base64 and hexadecimal digits
)

// A Value is a secret: its name stands in its place.
type Value struct{ Name, Value string }

// MarshalJSON writes the two in base64, since a variable need not be UTF-8.
func (v Value) MarshalJSON() ([]byte, error) {
	return json.Marshal([2][]byte{[]byte(v.Name), []byte(v.Value)})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (v *Value) UnmarshalJSON(data []byte) error {
	var both [2][]byte
	if err := json.Unmarshal(data, &both); err != nil {
		return err
	}
	v.Name, v.Value = string(both[0]), string(both[1])
	return nil
}

// Check returns an error that says why a value cannot be masked, or nil.
func Check(v Value) error {
	switch {
	case v.Name == "":
		return errors.New("a value has no name")
	case chars(v.Value) < MinValue:
		return fmt.Errorf("the value of %.80q has fewer than %d bytes, and would mask words", v.Name, MinValue)
	}
	return nil
}

// chars returns how many bytes of a text are no line ends.
func chars(text string) int { return len(text) - strings.Count(text, "\n") - strings.Count(text, "\r") }

// A Set finds values. It is safe for concurrent use. A nil Set finds nothing.
type Set struct {
	names  []string
	plain  *finder // of all forms that stand in a line
	broken *finder // of base64 and hexadecimal digits, in a text without line ends; nil for none
}

// Compile returns the Set of some values, or nil if there is none. Values of the
// same bytes have the first of their names. A value of fewer than MinValue bytes
// besides line ends is left out.
func Compile(values []Value) *Set {
	s := new(Set)
	seen := make(map[string]bool)
	var plain, broken []needle
	var plainRuns, brokenRuns []int
	for i, v := range values {
		s.names = append(s.names, v.Name)
		if seen[v.Value] || chars(v.Value) < MinValue {
			continue
		}
		seen[v.Value] = true
		n := needle{value: i, chars: encodings(v.Value)}
		at, run := longestRun(n.chars)
		if n.run = at; run < gram || len(v.Value) < minForms { // it is found as it is alone
			n.chars, n.run, run = literal(v.Value), 0, len(v.Value)
		}
		plain, plainRuns = append(plain, n), append(plainRuns, run)
		if len(v.Value) >= minForms {
			for _, form := range base64AndHex(v.Value) {
				broken, brokenRuns = append(broken, needle{value: i, chars: literal(form)}), append(brokenRuns, len(form))
			}
		}
	}
	if len(plain) == 0 {
		return nil
	}
	s.plain = newFinder(plain, plainRuns)
	if len(broken) > 0 {
		s.broken = newFinder(broken, brokenRuns)
	}
	return s
}

// literal returns the bytes of a text, each as a character with no other spelling.
func literal(text string) (chars [][]string) {
	for i := range len(text) {
		chars = append(chars, []string{text[i : i+1]})
	}
	return chars
}

// A span is a part of a text that is a value.
type span struct{ from, to, value int }

// find returns the values in a text, in the order in which they begin. Values that
// overlap are one span, with the name of the first. It calls found for each of them.
func (s *Set) find(text []byte, found func(value int)) (spans []span) {
	s.plain.find(text, func(value, from, to int) {
		spans = append(spans, span{from, to, value})
		found(value)
	})
	if s.broken != nil {
		j := join(text)
		defer joins.Put(j)
		s.broken.find(j.text, func(value, from, to int) {
			spans = append(spans, span{j.offset(from), j.offset(to-1) + 1, value})
			found(value)
		})
	}
	return merge(spans)
}

// merge joins overlapping spans.
func merge(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to, a.value-b.value) })
	out := spans[:1]
	for _, next := range spans[1:] {
		if last := &out[len(out)-1]; next.from < last.to {
			last.to = max(last.to, next.to)
			continue
		}
		out = append(out, next)
	}
	return out
}

// opens returns where the longest end of a text begins that is the beginning of a value,
// and which. It returns len(text) if there is none.
func (s *Set) opens(text []byte) (from, value int) {
	from, value = s.plain.opens(text)
	if s.broken != nil {
		// A line may be as short as one character.
		j := join(text[max(0, len(text)-s.broken.longest*(3+mostIndent)):])
		defer joins.Put(j)
		if at, of := s.broken.opens(j.text); at < len(j.text) {
			if at = len(text) - j.whole + j.offset(at); at < from {
				return at, of
			}
		}
	}
	return from, value
}

// A joinedText is a text without its line ends and the indentation behind them.
type joinedText struct {
	text   []byte
	whole  int      // bytes of the text with them
	breaks [][2]int // the offset in text of each, and the bytes of all up to there
}

// joins lends joined texts.
var joins = sync.Pool{New: func() any { return new(joinedText) }}

// join joins the lines of a text.
func join(text []byte) *joinedText {
	j := joins.Get().(*joinedText)
	j.text, j.whole, j.breaks = j.text[:0], len(text), j.breaks[:0]
	removed := 0
	for rest := text; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n')
		end := n + 1
		if n < 0 {
			n, end = len(rest), len(rest)
		}
		for end < len(rest) && end <= n+mostIndent && (rest[end] == ' ' || rest[end] == '\t') {
			end++
		}
		if n > 0 && rest[n-1] == '\r' {
			n--
		}
		j.text = append(j.text, rest[:n]...)
		removed += end - n
		j.breaks = append(j.breaks, [2]int{len(j.text), removed})
		rest = rest[end:]
	}
	return j
}

// offset returns where a byte of the joined text stands in the text.
func (j *joinedText) offset(at int) int {
	if i := sort.Search(len(j.breaks), func(i int) bool { return j.breaks[i][0] > at }); i > 0 {
		return at + j.breaks[i-1][1]
	}
	return at
}
