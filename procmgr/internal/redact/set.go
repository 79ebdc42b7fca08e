package redact

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// MinValue is the shortest value that can be masked, in bytes.
	MinValue = 4
	// minForms is from how many bytes on a value is masked in all its forms.
	minForms = 12

	gram     = MinValue // how many bytes are looked at to begin with
	bitsLog  = 18
	mostEnds = 2 // bytes of a line end between two characters
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

// A Set finds values. It is safe for concurrent use. A nil Set finds nothing.
type Set struct {
	names   []string
	needles []needle
	// A needle is found by gram bytes of it: of each stride bytes of a text, one
	// place is looked at. That is a place within the first stride bytes of any
	// needle that is there.
	stride int
	known  []uint64           // bits of grams that are in places
	places map[uint32][]place // by gram
	begins [256][]int         // needles, by their first byte
	within [256]bool          // bytes that some needle has
	raw    int                // the most bytes that a needle takes in a text
}

// A place is where a gram stands in a needle.
type place struct{ needle, at int }

// Compile returns the Set of some values, or nil if there is none. Values of the
// same bytes have the first of their names. A value of fewer than MinValue bytes
// besides line ends is left out.
func Compile(values []Value) *Set {
	s := new(Set)
	seen := make(map[string]bool)
	add := func(text string, value int, lines bool) {
		if chars(text) >= MinValue && !seen[text] {
			seen[text] = true
			s.needles = append(s.needles, needle{text, value, lines})
		}
	}
	for _, v := range values {
		s.names = append(s.names, v.Name)
		add(v.Value, len(s.names)-1, false)
	}
	for i, v := range values {
		if len(v.Value) < minForms {
			continue
		}
		broken, whole := formsOf(v.Value)
		for _, text := range whole {
			add(text, i, false)
		}
		for _, text := range broken {
			add(text, i, true)
		}
	}
	if len(s.needles) == 0 {
		return nil
	}
	s.index()
	return s
}

func (s *Set) index() {
	s.stride = math.MaxInt
	for _, n := range s.needles {
		s.stride = min(s.stride, chars(n.text))
		s.raw = max(s.raw, len(n.text)*(1+mostEnds))
	}
	s.stride -= gram - 1
	s.known = make([]uint64, 1<<bitsLog/64)
	s.places = make(map[uint32][]place)
	for number, n := range s.needles {
		s.begins[n.text[0]] = append(s.begins[n.text[0]], number)
		for i := range s.stride {
			g, at, _ := gather([]byte(n.text), i)
			h := hash(g)
			s.known[h/64] |= 1 << (h % 64)
			s.places[g] = append(s.places[g], place{number, at})
		}
		for _, c := range []byte(n.text) {
			s.within[c] = true
		}
		if n.lines {
			s.within['\n'], s.within['\r'] = true, true
		}
	}
}

func hash(g uint32) uint32 { return g * 0x9e3779b1 >> (32 - bitsLog) }

// A Span is a part of a text that is a value.
type Span struct {
	From, To int
	value    int
}

// Find returns the values in a text, in the order in which they begin. Values that
// overlap are one Span, with the name of the first.
func (s *Set) Find(text []byte) []Span { return s.find(text, nil) }

// find is Find that calls found for each value.
func (s *Set) find(text []byte, found func(value int)) (spans []Span) {
	if s == nil {
		return nil
	}
	for i := 0; i+gram <= len(text); i += s.stride {
		g := binary.LittleEndian.Uint32(text[i:])
		at := i
		if hasLineEnd(g) {
			var ok bool
			if g, at, ok = gather(text, i); !ok {
				break // no needle that begins before i is whole
			}
		}
		if h := hash(g); s.known[h/64]>>(h%64)&1 == 0 {
			continue
		}
		for _, p := range s.places[g] {
			n := &s.needles[p.needle]
			if from, to, ok := n.around(text, at, p.at); ok {
				spans = append(spans, Span{from, to, n.value})
				if found != nil {
					found(n.value)
				}
			}
		}
	}
	return merge(spans)
}

// hasLineEnd reports whether one of four bytes is \n or \r.
func hasLineEnd(g uint32) bool {
	lf, cr := g^0x0a0a0a0a, g^0x0d0d0d0d
	return ((lf-0x01010101)&^lf|(cr-0x01010101)&^cr)&0x80808080 != 0
}

// chars returns how many bytes of a text are no line ends.
func chars(text string) int { return len(text) - strings.Count(text, "\n") - strings.Count(text, "\r") }

func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }

// gather returns the next bytes of a text that are no line ends, and where they
// begin.
func gather(text []byte, from int) (g uint32, at int, ok bool) {
	n := 0
	for i := from; i < len(text) && n < gram; i++ {
		if isLineEnd(text[i]) {
			continue
		}
		if n == 0 {
			at = i
		}
		g |= uint32(text[i]) << (8 * n)
		n++
	}
	return g, at, n == gram
}

// around reports whether the needle is in the text such that its byte number at
// stands at i, and where it begins and ends.
func (n *needle) around(text []byte, i, at int) (from, to int, ok bool) {
	from, to = i, i
	for k := at - 1; k >= 0; k-- {
		from--
		for ends := 0; n.lines && ends < mostEnds && from > 0 && isLineEnd(text[from]); ends++ {
			from--
		}
		if from < 0 || text[from] != n.text[k] {
			return 0, 0, false
		}
	}
	matched, used := n.prefix(text[i:], at)
	return from, to + used, matched == len(n.text)
}

// prefix returns how far the needle goes on in a text from its byte number at on,
// and how many bytes of the text that are.
func (n *needle) prefix(text []byte, at int) (matched, used int) {
	i := 0
	for k := at; k < len(n.text); k++ {
		j := i
		for ends := 0; n.lines && k > at && ends < mostEnds && j < len(text) && isLineEnd(text[j]); ends++ {
			j++
		}
		if j >= len(text) {
			return k, j
		}
		if text[j] != n.text[k] {
			return k, i
		}
		i = j + 1
	}
	return len(n.text), i
}

// merge makes one span of those that overlap.
func merge(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b Span) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return b.To - a.To
	})
	out := spans[:1]
	for _, next := range spans[1:] {
		if last := &out[len(out)-1]; next.From < last.To {
			last.To = max(last.To, next.To)
			continue
		}
		out = append(out, next)
	}
	return out
}

// opens returns where the longest end of a text begins that is the beginning of a
// needle, or len(text) if there is none.
func (s *Set) opens(text []byte) int {
	from := len(text)
	for from > max(0, len(text)-s.raw) && s.within[text[from-1]] {
		from--
	}
	for ; from < len(text); from++ {
		for _, i := range s.begins[text[from]] {
			n := &s.needles[i]
			if matched, used := n.prefix(text[from:], 0); used == len(text)-from && matched < len(n.text) {
				return from
			}
		}
	}
	return len(text)
}

// endsIn returns the beginning of a text that is the end of a value, Soon bytes of it or
// more, and whether that goes on after the text.
func (s *Set) endsIn(text []byte) (rest Span, more bool) {
	for _, n := range s.needles {
		for at := 1; at <= len(n.text)-Soon; at++ {
			if matched, used := n.prefix(text, at); used > rest.To && (matched == len(n.text) || used == len(text)) {
				rest, more = Span{0, used, n.value}, matched < len(n.text)
			}
		}
	}
	if more && rest.To < Soon {
		return Span{}, false
	}
	return rest, more
}

// Longest returns the most bytes that a value takes in a text. It is 0 for nil.
func (s *Set) Longest() int {
	if s == nil {
		return 0
	}
	return s.raw
}

// Names returns the names of the values.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.names)
}

// Name returns the name of the value that a Span of the Set is.
func (s *Set) Name(span Span) string { return s.names[span.value] }
