package headtail

import (
	"io"
	"sync"
	"unicode/utf8"
)

const (
	DefaultHead = 16 << 10 // bytes kept from the beginning
	DefaultTail = 16 << 10 // bytes kept from the end
)

// minGrow is the smallest size that a slice grows to, in bytes. Most commands
// print a line or two, and one small allocation should be enough for those.
const minGrow = 512

// A Buffer keeps the first and the last bytes that are written to it, and
// counts the bytes between them. Make one with [New]. The zero Buffer keeps no
// bytes and only counts.
//
// A Buffer is safe for concurrent use. It must not be copied after its first
// use.
type Buffer struct {
	mu       sync.Mutex // guards all fields below
	headSize int        // head never grows beyond this size
	head     []byte     // the stream's first bytes
	tail     ring       // the last bytes after head
	total    int64      // bytes ever written
	closed   bool

	// last holds the stream's last bytes once more. Snapshot must see whether
	// the stream ends in an incomplete rune, even if tail is too short to hold
	// that rune.
	last [utf8.UTFMax - 1]byte
}

var _ io.WriteCloser = (*Buffer)(nil)

// New makes a Buffer that keeps the first head bytes of its stream, and the
// last tail bytes of the rest. Either may be 0. A negative size counts as 0.
// Memory is allocated as the stream comes: an empty Buffer has allocated none, with
// any sizes.
func New(head, tail int) *Buffer {
	return &Buffer{
		headSize: max(head, 0),
		tail:     ring{size: max(tail, 0)},
	}
}

// Write takes all of p and never fails. It allocates only while the Buffer
// grows. Of the bytes that do not fit into the head, it copies no more than the
// tail can hold. It keeps no reference to p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	n := len(p)
	b.total += int64(n)
	if n >= len(b.last) {
		copy(b.last[:], p[n-len(b.last):])
	} else {
		copy(b.last[:], b.last[n:])
		copy(b.last[len(b.last)-n:], p)
	}
	if room := b.headSize - len(b.head); room > 0 {
		k := min(room, len(p))
		b.head = append(grow(b.head, k, b.headSize), p[:k]...)
		p = p[k:]
	}
	b.tail.write(p)
	return n, nil
}

// Close marks the end of the stream. If the stream ends in the first bytes of a
// rune, that rune will not be completed any more, and the next
// [Buffer.Snapshot] includes those bytes. Close never fails and may be called
// again. The Buffer still takes writes after Close, and holds back no byte of
// them.
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// Total returns how many bytes were ever written, including the bytes of a rune
// that is still incomplete.
func (b *Buffer) Total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// grow returns b with room for n more bytes. It at least doubles the capacity,
// but never beyond size, as append would. len(b)+n must not exceed size.
func grow(b []byte, n, size int) []byte {
	need := len(b) + n
	if need <= cap(b) {
		return b
	}
	c := size
	if cap(b) < size/2 {
		c = min(max(need, 2*cap(b), minGrow), size)
	}
	return append(make([]byte, 0, c), b...)
}

// incomplete returns how many bytes at the end of b, 0 to 3, begin a rune that
// further bytes could complete.
func incomplete(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if end := b[len(b)-i:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return 0
			}
			return i
		}
	}
	return 0
}

// A Snapshot is a copy of the bytes that a [Buffer] held at one moment, from
// one offset of the stream on. It shares no memory with the Buffer and never
// changes by itself.
//
// Always, From + len(Head) + Gap + len(Tail) == Total.
//
// If nothing is missing, Gap is 0 and all bytes are in Head, however the Buffer
// stored them: Tail is used only after a gap. A Snapshot that was built by hand
// may use both without a gap, and [Snapshot.Text] then reads them as one
// stream.
//
// If bytes are missing, no rune is split. Gap then also counts the first bytes
// of a rune at the end of the bytes before the gap, and up to 3 continuation
// bytes at the start of the bytes after it.
type Snapshot struct {
	From  int64  // the offset that the caller asked for, clamped into [0, Total]
	Head  []byte // the kept bytes from From on, before the gap
	Gap   int64  // number of bytes that were dropped between Head and Tail
	Tail  []byte // the kept bytes after the gap
	Total int64  // the offset to ask from next
}

// Snapshot returns a copy of the kept bytes from the stream offset from on. A
// negative offset counts as 0, and an offset beyond the end counts as the end.
// If the byte at from was dropped, Head is empty and Gap counts the missing
// bytes from there on. If from lies within a rune and the rest of that rune is
// kept, the Snapshot starts with that rest: only the caller can know which
// bytes of the rune it has.
//
// Until [Buffer.Close], if the stream ends in the first bytes of a rune (at
// most 3), they are left for the next Snapshot. Snapshot.Total therefore never
// lies within a rune, and may be smaller than [Buffer.Total].
func (b *Buffer) Snapshot(from int64) Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()

	end := b.total
	if !b.closed {
		end -= int64(incomplete(b.last[:]))
	}
	from = min(max(from, 0), end)
	s := Snapshot{From: from, Total: end}

	headEnd := min(int64(len(b.head)), end)
	tailStart := b.total - int64(len(b.tail.buf))
	if from >= tailStart || tailStart == headEnd || headEnd == end {
		s.Head = b.slice(from, end)
		return s
	}
	headEnd -= int64(incomplete(b.head))
	s.Tail = b.slice(b.runeStart(tailStart, end), end)
	if from < headEnd {
		s.Head = b.slice(from, headEnd)
	}
	s.Gap = end - from - int64(len(s.Head)) - int64(len(s.Tail))
	return s
}

// slice returns a copy of the stream's bytes from offset i up to, but without,
// offset j. The Buffer must hold all of them. If there are none, slice returns
// nil.
func (b *Buffer) slice(i, j int64) []byte {
	if i >= j {
		return nil
	}
	p := make([]byte, 0, j-i)
	if n := int64(len(b.head)); i < n {
		p = append(p, b.head[i:min(j, n)]...)
		i = n
	}
	if i < j {
		start := b.total - int64(len(b.tail.buf))
		p = b.tail.appendTo(p, int(i-start), int(j-start))
	}
	return p
}

// runeStart returns the offset i, moved past the continuation bytes of a rune
// that was cut there. The offset i must be the first one of the tail.
func (b *Buffer) runeStart(i, end int64) int64 {
	for k := 0; k < utf8.UTFMax-1 && i < end && !utf8.RuneStart(b.tail.at(k)); k++ {
		i++
	}
	return i
}

// A ring keeps the last size bytes that are written to it.
type ring struct {
	size int
	buf  []byte // grows up to size bytes, and is used as a ring from then on
	next int    // once buf is full: the index of the oldest byte, which the next byte replaces
}

func (r *ring) write(p []byte) {
	if len(p) >= r.size {
		// No old byte remains. So if buf has to grow, the old bytes need not be
		// moved.
		if r.size > 0 && len(p) > 0 {
			r.buf = grow(r.buf[:0], r.size, r.size)[:r.size]
			r.next = 0
			copy(r.buf, p[len(p)-r.size:])
		}
		return
	}
	if room := r.size - len(r.buf); room > 0 {
		k := min(room, len(p))
		r.buf = append(grow(r.buf, k, r.size), p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(r.buf[r.next:], p)
		p = p[k:]
		if r.next += k; r.next == r.size {
			r.next = 0
		}
	}
}

// at returns the i-th of the kept bytes. The 0th is the oldest.
func (r *ring) at(i int) byte {
	if i += r.next; i >= len(r.buf) {
		i -= len(r.buf)
	}
	return r.buf[i]
}

// appendTo appends the kept bytes from the i-th up to, but without, the j-th to
// dst.
func (r *ring) appendTo(dst []byte, i, j int) []byte {
	old := r.buf[r.next:] // the rest wraps around
	if i < len(old) {
		dst = append(dst, old[i:min(j, len(old))]...)
	}
	if j > len(old) {
		dst = append(dst, r.buf[max(i-len(old), 0):j-len(old)]...)
	}
	return dst
}
