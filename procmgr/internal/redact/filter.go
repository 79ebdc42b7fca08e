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
// use. A nil Filter masks nothing.
type Filter struct {
	set *Set
	// tail are the newest bytes of the stream, as far as they may be the beginning of a
	// value. The output has the first shown of them, or what stands for them.
	tail   []byte
	shown  int
	masked bool     // the last of them is in a value that has been masked
	seen   []string // the names of the values that were masked
}

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
	return slices.Clone(f.seen)
}

// Held reports whether LetGo would let go of a part of the stream.
func (f *Filter) Held() bool { return f != nil && len(f.tail) > f.shown && len(f.tail) < Soon }

// rooms lends the room of a tail with what follows it.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// Append appends the output of the next bytes of the stream to dst.
func (f *Filter) Append(dst, p []byte) []byte {
	if f == nil || len(p) == 0 {
		return append(dst, p...)
	}
	text := p
	if len(f.tail) > 0 {
		room := rooms.Get().(*[]byte)
		defer rooms.Put(room)
		text = append(append((*room)[:0], f.tail...), p...)
		*room = text
	}
	end, _ := f.set.opens(text)
	dst = f.emit(dst, text, end)
	f.tail = append(f.tail[:0], text[end:]...)
	f.shown = max(0, f.shown-end)
	return dst
}

// LetGo appends what is held back, if it is the beginning of a value of fewer than
// Soon bytes. If the value goes on, the rest of it is masked.
func (f *Filter) LetGo(dst []byte) []byte {
	if f == nil || len(f.tail) >= Soon {
		return dst
	}
	return f.emit(dst, f.tail, len(f.tail))
}

// End appends what is held back. The stream has ended.
func (f *Filter) End(dst []byte) []byte {
	if f == nil {
		return dst
	}
	dst = f.emit(dst, f.tail, len(f.tail))
	f.tail, f.shown = nil, 0
	return dst
}

// Peek returns the output of p as if it was written next and nothing followed. The
// Filter stays as it is.
func (f *Filter) Peek(p []byte) []byte {
	if f == nil || len(p) == 0 {
		return p
	}
	g := Filter{set: f.set, tail: bytes.Clone(f.tail), shown: f.shown, masked: f.masked}
	return g.LetGo(g.Append(nil, p))
}

// emit appends the output for text from shown on up to end, and of a value that begins
// before end all. It sets shown to where the output ends.
func (f *Filter) emit(dst, text []byte, end int) []byte {
	at := f.shown
	for _, s := range f.set.find(text, f.note) {
		if s.from >= end || s.to <= at {
			continue
		}
		if !f.masked || s.from >= at { // else it overlaps what stands there already
			dst = append(dst, text[at:max(at, s.from)]...)
			dst = append(append(append(dst, "[withheld: "...), f.set.names[s.value]...), ']')
		}
		at, f.masked = s.to, true
	}
	f.masked = f.masked && end <= at
	f.shown = max(at, end)
	return append(dst, text[at:f.shown]...)
}

// note notes that a value was found.
func (f *Filter) note(value int) {
	if name := f.set.names[value]; !slices.Contains(f.seen, name) {
		f.seen = append(f.seen, name)
	}
}
