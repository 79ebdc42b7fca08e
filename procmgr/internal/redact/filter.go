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
	tail  []byte
	shown int
	seen  []string // the names of the values that were masked
	lent  *room    // nil if it has none
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

// Held returns how many bytes of the stream are held back, and whether LetGo would
// let go of them.
func (f *Filter) Held() (n int, soon bool) {
	if f == nil {
		return 0, false
	}
	n = len(f.tail) - f.shown
	return n, n > 0 && len(f.tail) < Soon
}

// Write returns the output of the next bytes: p itself, if nothing has to be masked
// or held back. It is valid until the next call, and until Release.
func (f *Filter) Write(p []byte) []byte {
	if f == nil || len(p) == 0 {
		return p
	}
	text := p
	if len(f.tail) > 0 {
		text = append(append(f.room().text[:0], f.tail...), p...)
		f.lent.text = text
	}
	end, _ := f.set.opens(text)
	out := f.emit(text, end)
	f.tail = append(f.tail[:0], text[end:]...)
	f.shown = max(0, f.shown-end)
	return out
}

// LetGo returns what is held back, if it is the beginning of a value of fewer than
// Soon bytes. If the value goes on, the rest of it is masked.
func (f *Filter) LetGo() []byte {
	if f == nil || len(f.tail) >= Soon {
		return nil
	}
	return f.emit(f.tail, len(f.tail))
}

// End returns what is held back. The stream has ended.
func (f *Filter) End() []byte {
	if f == nil {
		return nil
	}
	out := f.emit(f.tail, len(f.tail))
	f.tail, f.shown = nil, 0
	return out
}

// Peek returns the output of p as if it was written next and nothing followed. The
// Filter stays as it is.
func (f *Filter) Peek(p []byte) []byte {
	if f == nil || len(p) == 0 {
		return p
	}
	g := Filter{set: f.set, tail: bytes.Clone(f.tail), shown: f.shown}
	defer g.Release()
	out := bytes.Clone(g.Write(p))
	return append(out, g.LetGo()...)
}

// emit returns the output for text from shown on up to end, and of a value that begins
// before end all. It sets shown to where the output ends.
func (f *Filter) emit(text []byte, end int) []byte {
	spans := f.set.find(text, f.note)
	at := f.shown
	if len(spans) == 0 {
		f.shown = max(at, end)
		return text[min(at, f.shown):f.shown]
	}
	out := f.room().out[:0]
	for _, s := range spans {
		if s.from >= end || s.to <= at {
			continue
		}
		out = append(out, text[at:max(at, s.from)]...)
		out = append(append(append(out, "[withheld: "...), f.set.names[s.value]...), ']')
		at = s.to
	}
	out = append(out, text[at:max(at, end)]...)
	f.shown = max(at, end)
	f.lent.out = out
	return out
}

// note notes that a value was found.
func (f *Filter) note(value int) {
	if name := f.set.names[value]; !slices.Contains(f.seen, name) {
		f.seen = append(f.seen, name)
	}
}
