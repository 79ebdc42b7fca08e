package headtail

import (
	"encoding"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

var (
	_ encoding.BinaryMarshaler   = (*Buffer)(nil)
	_ encoding.BinaryUnmarshaler = (*Buffer)(nil)
)

// stateVersion begins the result of MarshalBinary.
const stateVersion = 1

// MarshalBinary returns the whole state of the Buffer. A Buffer that gets it by
// [Buffer.UnmarshalBinary], in another program too, goes on in its place. It
// never fails.
func (b *Buffer) MarshalBinary() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := make([]byte, 0, 64+len(b.head)+len(b.tail.buf))
	p = append(p, stateVersion)
	p = binary.AppendUvarint(p, uint64(b.headSize))
	p = binary.AppendUvarint(p, uint64(b.tail.size))
	p = binary.AppendUvarint(p, uint64(b.total))
	closed := byte(0)
	if b.closed {
		closed = 1
	}
	p = append(p, closed)
	p = append(p, b.last[:]...)
	p = binary.AppendUvarint(p, uint64(len(b.head)))
	p = append(p, b.head...)
	p = binary.AppendUvarint(p, uint64(len(b.tail.buf)))
	return b.tail.appendTo(p, 0, len(b.tail.buf)), nil
}

var errState = errors.New("headtail: this is no state of a Buffer")

// UnmarshalBinary gives the Buffer the state that another one had when its
// MarshalBinary was called. It fails, and changes nothing, if data is not the result
// of such a call.
func (b *Buffer) UnmarshalBinary(data []byte) error {
	r := stateReader{p: data}
	version := r.bytes(1)
	headSize, tailSize, total := r.number(), r.number(), r.number()
	closed, last := r.bytes(1), r.bytes(uint64(len(b.last)))
	head := r.bytes(r.number())
	tail := r.bytes(r.number())
	const most = 1<<63 - 1
	switch {
	case r.short || len(r.p) > 0, version[0] != stateVersion, closed[0] > 1,
		headSize > most/2, tailSize > most/2, total > most,
		uint64(len(head)) != min(total, headSize),
		uint64(len(tail)) > min(total-uint64(len(head)), tailSize),
		total < uint64(len(last)) && strings.Trim(string(last[:uint64(len(last))-total]), "\x00") != "":
		return errState
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.headSize, b.total, b.closed = int(headSize), int64(total), closed[0] == 1
	copy(b.last[:], last)
	b.head = slices.Clone(head)
	b.tail = ring{size: int(tailSize), buf: slices.Clone(tail)}
	return nil
}

// A stateReader reads a result of MarshalBinary.
type stateReader struct {
	p     []byte
	short bool // there was not enough to read
}

func (r *stateReader) number() uint64 {
	n, size := binary.Uvarint(r.p)
	if size <= 0 {
		r.short = true
		return 0
	}
	r.p = r.p[size:]
	return n
}

// bytes returns the next n bytes. If there are fewer, it returns one zero byte.
func (r *stateReader) bytes(n uint64) []byte {
	if r.short || n > uint64(len(r.p)) {
		r.short = true
		return []byte{0}
	}
	p := r.p[:n]
	r.p = r.p[n:]
	return p
}
