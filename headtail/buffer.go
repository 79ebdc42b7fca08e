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

// minGrow is the least that a slice grows to, in bytes. Most commands say a
// line or two; those shall cost one small allocation.
const minGrow = 512

// A Buffer keeps the first and the last bytes of what is written to it, and
// counts the rest. Make one with [New]; the zero Buffer keeps nothing and
// counts.
//
// A Buffer is safe for concurrent use. It must not be copied after its first
// use.
type Buffer struct {
	mu       sync.Mutex // guards all below
	headSize int        // what head may grow to
	head     []byte     // the stream's first bytes
	tail     ring       // the last of those behind head
	total    int64      // bytes ever written
	closed   bool

	// last holds the stream's last bytes once more, since the end of an
	// incomplete rune has to be known even where tail is too short to hold it.
	last [utf8.UTFMax - 1]byte
}

var _ io.WriteCloser = (*Buffer)(nil)

// New makes a Buffer that keeps the first head bytes of its stream, and of what
// comes behind them the last tail bytes. Either may be 0; a negative size is
// taken as 0. Memory is allocated as the stream comes: an empty Buffer holds
// none, however large its sizes are.
func New(head, tail int) *Buffer {
	return &Buffer{
		headSize: max(head, 0),
		tail:     ring{size: max(tail, 0)},
	}
}

// Write takes all of p and never fails. It allocates only while the Buffer
// grows, and of what does not fit into the head it copies no more than the tail
// can hold. It keeps no reference to p.
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

// Close marks the end of the stream: what looks like the first bytes of a rune
// at its end will not be completed any more, and the next [Buffer.Snapshot]
// includes it. Close never fails and may be called again. A write after it is
// still taken, and nothing of it is held back.
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// Total returns how many bytes were ever written, those of a rune that is still
// incomplete included.
func (b *Buffer) Total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// grow returns b with room for n more bytes. It at least doubles the capacity,
// but never exceeds size, which append would. len(b)+n must not exceed size.
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

// incomplete returns how many bytes at the end of b, 0 to 3, are the beginning
// of a rune that further bytes could complete.
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
