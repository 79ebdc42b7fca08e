package redact

import (
	"bytes"
	"slices"
	"sync"
)

// Soon is from how many bytes on a possible beginning of a value is held back until
// it is decided. LetGo lets go of fewer.
const Soon = 8

// A Filter masks the values of a Set in one stream. It is not safe for concurrent
// use. Its output depends on the stream and on the calls of LetGo alone, never on
// how the stream was split into writes. A nil Filter masks nothing.
type Filter struct {
	set *Set
	State
	lent *room // nil if it has none
}

// A room is lent to a Filter while it writes: one that waits holds none.
type room struct{ text, out []byte }

var rooms = sync.Pool{New: func() any { return new(room) }}

// Release gives back the room of the last output, which is valid until then. It may be
// called at any time.
func (f *Filter) Release() {
	if f != nil && f.lent != nil {
		rooms.Put(f.lent)
		f.lent = nil
	}
}

func (f *Filter) room() *room {
	if f.lent == nil {
		f.lent = rooms.Get().(*room)
	}
	return f.lent
}

// A State is what a Filter knows of its stream. It may have a part of a value in it.
type State struct {
	// Tail are the newest bytes of the stream, as far as they may be the beginning
	// of a value, and Told says of each what the output has of it.
	Tail []byte
	Told []Told
	Seen []string // the names of the values that were masked
	// Cut says that nobody has what the stream had before: it may begin within a value.
	Cut bool
}

// Told says what the output has of a byte of the stream.
type Told byte

// The values of a Told.
const (
	Nothing Told = iota
	Itself
	Masked
)

// NewFilter returns a Filter for a stream that begins, or nil if the Set is nil.
func (s *Set) NewFilter() *Filter {
	if s == nil {
		return nil
	}
	return &Filter{set: s}
}

// Names returns the names of the values that were masked, in the order in which
// they came.
func (f *Filter) Names() []string {
	if f == nil {
		return nil
	}
	return slices.Clone(f.Seen)
}

// Held returns how many bytes of the stream are held back, and whether LetGo would
// let go of them.
func (f *Filter) Held() (n int, soon bool) {
	if f == nil {
		return 0, false
	}
	for _, t := range f.Told {
		if t == Nothing {
			n++
		}
	}
	return n, n > 0 && len(f.Tail) < Soon
}

// Write returns the output of the next bytes: p itself, if nothing has to be masked
// or held back. It is valid until the next call, and until Release.
func (f *Filter) Write(p []byte) []byte {
	if f == nil || len(p) == 0 {
		return p
	}
	text := p
	if len(f.Tail) > 0 {
		text = append(append(f.room().text[:0], f.Tail...), p...)
		f.lent.text = text
	}
	end := f.set.opens(text)
	out := f.emit(text, end, end)
	f.Tail = append(f.Tail[:0], text[end:]...)
	return out
}

// LetGo returns what is held back, if it is the beginning of a value of fewer than
// Soon bytes. If the value goes on, the rest of it is masked.
func (f *Filter) LetGo() []byte {
	if f == nil || len(f.Tail) >= Soon {
		return nil
	}
	return f.emit(f.Tail, len(f.Tail), 0)
}

// End returns what is held back. The stream has ended.
func (f *Filter) End() []byte {
	if f == nil {
		return nil
	}
	out := f.emit(f.Tail, len(f.Tail), len(f.Tail))
	f.Tail = nil
	return out
}

// Peek returns the output of p as if it was written next and nothing followed. The
// Filter stays as it is.
func (f *Filter) Peek(p []byte) []byte {
	if f == nil || len(p) == 0 {
		return p
	}
	g := Filter{set: f.set, State: State{Tail: bytes.Clone(f.Tail), Told: slices.Clone(f.Told)}}
	defer g.Release()
	out := bytes.Clone(g.Write(p))
	return append(out, g.LetGo()...)
}

// emit returns the output for text up to end, and of a value that begins before
// end all. Afterwards Told is that of text from keep on.
func (f *Filter) emit(text []byte, end, keep int) []byte {
	spans := f.set.find(text, f.note)
	if f.Cut && end > 0 {
		var rest Span
		if rest, f.Cut = f.set.endsIn(text); rest.To > 0 {
			spans = merge(append(spans, rest))
			f.note(rest.value)
		}
	}
	if len(spans) == 0 && len(f.Told) == 0 {
		if keep < len(text) {
			f.Told = make([]Told, len(text)-keep)
			f.tell(keep, 0, end, Itself)
		}
		return text[:end]
	}
	before := f.Told
	f.Told = make([]Told, len(text)-keep)
	copy(f.Told, before[min(keep, len(before)):])
	out, at := f.room().out[:0], 0
	show := func(to int) {
		for ; at < to && at < len(before); at++ {
			if before[at] == Nothing {
				out = append(out, text[at])
			}
		}
		if at < to {
			out = append(out, text[at:to]...)
		}
	}
	for _, span := range spans {
		if span.From >= end {
			break
		}
		f.tell(keep, at, span.From, Itself)
		show(span.From)
		if !slices.Contains(before[min(span.From, len(before)):min(span.To, len(before))], Masked) {
			out = append(append(append(out, "[withheld: "...), f.set.names[span.value]...), ']')
		}
		f.tell(keep, span.From, span.To, Masked)
		at = span.To
	}
	f.tell(keep, at, end, Itself)
	show(end)
	f.lent.out = out
	return out
}

// tell notes what the output has of a part of the text whose byte number keep is
// the first of Told.
func (f *Filter) tell(keep, from, to int, what Told) {
	for k := max(from, keep); k < to; k++ {
		if f.Told[k-keep] != Masked {
			f.Told[k-keep] = what
		}
	}
}

// note notes that a value was found.
func (f *Filter) note(value int) {
	if name := f.set.names[value]; !slices.Contains(f.Seen, name) {
		f.Seen = append(f.Seen, name)
	}
}
