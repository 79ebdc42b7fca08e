package plaintext

import (
	"encoding"
	"encoding/binary"
	"errors"
	"slices"
)

var (
	_ encoding.BinaryMarshaler   = (*Writer)(nil)
	_ encoding.BinaryUnmarshaler = (*Writer)(nil)
)

// stateVersion begins the result of MarshalBinary.
const stateVersion = 1

var errState = errors.New("plaintext: this is no state of a Writer")

// MarshalBinary returns the text that the Writer holds back and the rest of its
// state, some 16 KiB at most. A Writer that gets it by [Writer.UnmarshalBinary], in
// another program too, goes on in its place. After an error of the underlying writer
// it returns that error.
func (w *Writer) MarshalBinary() ([]byte, error) {
	if w.out.err != nil {
		return nil, w.out.err
	}
	p := []byte{stateVersion, byte(w.seq.state), w.seq.last, flags(w.line.long, w.line.shown, w.line.held)}
	p = binary.AppendUvarint(p, uint64(w.seq.params))
	for _, b := range [...][]byte{w.seq.buf, w.line.first, w.line.cur, w.line.newest} {
		p = append(binary.AppendUvarint(p, uint64(len(b))), b...)
	}
	return p, nil
}

// flags packs booleans, the first one into the lowest bit.
func flags(all ...bool) (packed byte) {
	for i, set := range all {
		if set {
			packed |= 1 << i
		}
	}
	return packed
}

// UnmarshalBinary makes the Writer go on where another one was when its
// MarshalBinary was called. It writes to its own underlying writer. It fails, and
// changes nothing, if data is not the result of such a call.
func (w *Writer) UnmarshalBinary(data []byte) error {
	if len(data) < 4 || data[0] != stateVersion || state(data[1]) > str || data[3] >= 1<<3 {
		return errState
	}
	seq := sequence{state: state(data[1]), last: data[2]}
	line := line{long: data[3]&1 != 0, shown: data[3]&2 != 0, held: data[3]&4 != 0}
	params, data, ok := number(data[4:])
	if !ok {
		return errState
	}
	seq.params = int(params)
	for _, b := range [...]*[]byte{&seq.buf, &line.first, &line.cur, &line.newest} {
		var n uint64
		if n, data, ok = number(data); !ok || n > limit || n > uint64(len(data)) {
			return errState
		}
		*b, data = slices.Clone(data[:n]), data[n:]
	}
	if len(data) > 0 {
		return errState
	}
	w.seq, w.line = seq, line
	return nil
}

// number reads a number, and returns the data after it.
func number(p []byte) (n uint64, rest []byte, ok bool) {
	n, size := binary.Uvarint(p)
	if size <= 0 || n > 1<<31-1 {
		return 0, nil, false
	}
	return n, p[size:], true
}
