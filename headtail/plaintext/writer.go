package plaintext

import (
	"bytes"
	"io"
)

// A Writer writes the plain text of what is written to it to another writer.
// Make one with [NewWriter].
//
// A Writer is not safe for concurrent use: who calls [Writer.Pending] while
// another goroutine writes holds a lock around both. It must not be copied.
type Writer struct {
	out  output
	seq  sequence
	line line
}

var _ io.Writer = (*Writer)(nil)

// NewWriter makes a Writer that writes plain text to w. What a stream's last
// line or sequence leaves behind is written by [Writer.Flush] alone.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: output{w: w}}
}

// Write takes all of p, and writes on what of the text is certain by now: in few
// and large writes, and where p holds neither an ESC nor a carriage return, and
// nothing is held back, p itself. It keeps no reference to p.
//
// Write fails only where the underlying writer does, and then returns that error
// and 0, since bytes of the text cannot be counted as bytes of p. Text may be
// missing from then on, and so every later Write and Flush returns that error
// too and writes nothing.
func (w *Writer) Write(p []byte) (int, error) {
	if w.out.err != nil {
		return 0, w.out.err
	}
	find := newFinder(p)
	if w.seq.state == ground && !w.line.held && find.escape(0) == len(p) && find.carriageReturn(0) == len(p) {
		w.line.track(p)
		w.out.writeThrough(p)
	} else {
		w.out.open()
		w.process(p, &find)
		w.out.close()
	}
	if w.out.err != nil {
		return 0, w.out.err
	}
	return len(p), nil
}

func (w *Writer) process(p []byte, find *finder) {
	for i := 0; i < len(p); {
		switch {
		case w.seq.state != ground || p[i] == esc:
			i += w.sequence(p[i:])
		case p[i] == '\r':
			// Holding a line back only to end it gives the same text, but a
			// file with \r\n at each line's end shall not pay for that.
			if i++; i == len(p) || p[i] != '\n' {
				w.line.carriageReturn()
			}
		case !w.line.held:
			end := min(find.escape(i), find.carriageReturn(i))
			w.line.write(&w.out, p[i:end])
			i = end
		case p[i] == '\n':
			w.line.newline(&w.out)
			i++
		default:
			end := min(find.escape(i), find.carriageReturn(i), find.newline(i))
			w.line.draw(&w.out, p[i:end])
			i = end
		}
	}
}

// sequence takes from p what belongs to the sequence that is open, or that
// begins with p, and returns how many bytes that is.
func (w *Writer) sequence(p []byte) int {
	n, found := w.seq.scan(p)
	switch found {
	case unended:
		w.seq.buf = append(w.seq.buf, p[:n]...)
		return n
	case isReturn:
		w.line.carriageReturn()
	case isText:
		for _, b := range [...][]byte{w.seq.buf, p[:n]} {
			if w.line.held {
				w.line.draw(&w.out, b)
			} else {
				w.line.write(&w.out, b)
			}
		}
	}
	w.seq.reset()
	return n
}

// Pending returns what is held back, as [Writer.Flush] would write it now: the
// newest state of a line that is being redrawn, on a line of its own and so
// behind a newline, and a sequence that has begun. It is nil where nothing is
// held back, or only what will not be written.
//
// Pending is a preview. It comes behind all that has been written, but the next
// write may replace it, so it is no part of the stream yet.
func (w *Writer) Pending() []byte {
	return w.line.rest(w.seq.buf)
}

// Flush writes what is held back, as at the end of the stream: a sequence that
// has not ended is text, and the state that a line is in is its newest. It
// writes no newline behind it. The Writer is then as new, and what is written to
// it later another stream.
func (w *Writer) Flush() error {
	if w.out.err == nil {
		if rest := w.Pending(); len(rest) > 0 {
			w.out.writeThrough(rest)
		}
		w.seq.reset()
		w.line.reset()
	}
	return w.out.err
}

// A finder finds the next bytes of note in p, and reads no byte twice for the
// same: each index is that of the next one known, and len(p) where none is left.
type finder struct {
	p           []byte
	esc, cr, lf int
}

func newFinder(p []byte) finder { return finder{p, -1, -1, -1} }

func (f *finder) escape(from int) int         { return f.find(&f.esc, esc, from) }
func (f *finder) carriageReturn(from int) int { return f.find(&f.cr, '\r', from) }
func (f *finder) newline(from int) int        { return f.find(&f.lf, '\n', from) }

func (f *finder) find(next *int, c byte, from int) int {
	if *next < from {
		*next = len(f.p)
		if i := bytes.IndexByte(f.p[from:], c); i >= 0 {
			*next = from + i
		}
	}
	return *next
}
