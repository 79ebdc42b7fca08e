package plaintext

import (
	"bytes"
	"io"
)

// A Writer takes the output of a program and writes its plain text to another
// writer. Make one with [NewWriter].
//
// A Writer is not safe for concurrent use. To call [Writer.Pending] while
// another goroutine writes, hold a lock around both. A Writer must not be
// copied.
type Writer struct {
	out  output
	seq  sequence
	line line
}

var _ io.Writer = (*Writer)(nil)

// NewWriter makes a Writer that writes plain text to w. If a stream ends in an
// unfinished line or sequence, only [Writer.Flush] writes the rest of it.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: output{w: w}}
}

// Write takes all of p, and writes the part of the text that is certain by now,
// in few and large writes. If p has neither an ESC nor a carriage return, and
// nothing is held back, it writes p itself. It keeps no reference to p.
//
// Write fails only if the underlying writer fails. It then returns that error
// and 0, because bytes of the text cannot be counted as bytes of p. Text may be
// missing from then on, so every later Write and Flush writes nothing and
// returns that error too.
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
			// If the line were held back only until the \n, the text would be
			// the same. But then a file with \r\n at the end of each line would
			// be slow.
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

// sequence takes the bytes of p that belong to the open sequence, or to the
// sequence that begins with p. It returns how many bytes these are.
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

// Pending returns the text that is held back, as [Writer.Flush] would write it
// now: the newest state of a line that is being redrawn, with a newline before
// it because it stands on a line of its own, and a sequence that has begun. If
// nothing is held back, or nothing that Flush would write, Pending returns nil.
//
// Pending is a preview. It follows all text that has been written, but the next
// write may replace it, so it is no part of the stream yet.
func (w *Writer) Pending() []byte {
	return w.line.rest(w.seq.buf)
}

// Flush ends the stream and writes the text that is held back: a sequence that
// has not ended is text, and the current state of a line is its newest. Flush
// writes no newline after it. The Writer is then as new, and the next write
// begins another stream.
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

// A finder finds the next ESC, carriage return and newline in p. It reads no
// byte twice for the same one: each index is that of the next one known, or
// len(p) if none is left.
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
