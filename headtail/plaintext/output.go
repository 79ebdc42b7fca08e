package plaintext

import (
	"io"
	"sync"
)

// gatherSize is how many bytes are gathered for one write if the text comes in
// small parts.
const gatherSize = 4 << 10

// gathers lends a buffer for the time of one Write: idle Writers hold none.
var gathers = sync.Pool{New: func() any { return new([gatherSize]byte) }}

// An output gathers small parts into larger writes, and passes large parts
// through.
type output struct {
	w      io.Writer
	err    error // the first error of w; nothing is written after it
	lent   *[gatherSize]byte
	gather []byte // a slice of lent
}

func (o *output) open() {
	o.lent = gathers.Get().(*[gatherSize]byte)
	o.gather = o.lent[:0]
}

// close writes the gathered bytes.
func (o *output) close() {
	o.flush()
	gathers.Put(o.lent)
	o.lent, o.gather = nil, nil
}

func (o *output) write(b []byte) {
	if len(b) > gatherSize-len(o.gather) {
		o.flush()
		if len(b) >= gatherSize/2 {
			o.writeThrough(b)
			return
		}
	}
	o.gather = append(o.gather, b...)
}

func (o *output) flush() {
	o.writeThrough(o.gather)
	o.gather = o.gather[:0]
}

func (o *output) writeThrough(b []byte) {
	if o.err != nil || len(b) == 0 {
		return
	}
	n, err := o.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	o.err = err
}
