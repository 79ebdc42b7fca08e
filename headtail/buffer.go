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
