package plaintext

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

// A Writer takes the output of a program and writes its plain text to another
// writer. Make one with [NewWriter].
//
// A Writer is not safe for concurrent use. To call [Writer.Pending] while
// another goroutine writes, hold a lock around both. A Writer must not be
// copied.
type Writer struct {
	w    io.Writer
	err  error         // the first error of w; nothing is written after it
	out  *bufio.Writer // in front of w, during a Write
	seq  sequence
	line line
}

var _ io.Writer = (*Writer)(nil)

// NewWriter makes a Writer that writes plain text to w. If a stream ends in an
// unfinished line or sequence, only [Writer.Flush] writes the rest of it.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// buffers gather small parts of a text into larger writes. They are lent for the time of
// one Write: idle Writers hold none.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 4<<10) }}

// Write takes all of p, and writes the part of the text that is certain by now,
// in few and large writes. If p has no ESC, carriage return or backspace, and
// nothing is held back, it writes p itself. It keeps no reference to p.
//
// Write fails only if the underlying writer fails. It then returns that error
// and 0, because bytes of the text cannot be counted as bytes of p. Text may be
// missing from then on, so every later Write and Flush writes nothing and
// returns that error too.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	find := finder{p: p, next: [...]int{-1, -1, -1, -1}}
	if w.seq.state == ground && !w.line.held && w.line.back == 0 && find.control(0, false) == len(p) {
		w.line.track(p)
		w.through(p)
	} else {
		w.out = buffers.Get().(*bufio.Writer)
		w.out.Reset(w.w)
		w.process(p, &find)
		w.err = w.out.Flush()
		w.out.Reset(nil)
		buffers.Put(w.out)
		w.out = nil
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// through writes text that is not gathered.
func (w *Writer) through(b []byte) {
	if len(b) == 0 {
		return
	}
	n, err := w.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.err = err
}

func (w *Writer) process(p []byte, find *finder) {
	for i := 0; i < len(p); {
		switch c := p[i]; {
		case w.seq.state != ground || c == esc:
			i += w.sequence(p[i:])
		case c == '\r':
			// If the line were held back only until the \n, the text would be
			// the same. But then a file with \r\n at the end of each line would
			// be slow.
			if i++; i == len(p) || p[i] != '\n' {
				w.line.carriageReturn()
			}
		case c == '\b':
			if !w.line.left(1) {
				w.text(p[i : i+1])
			}
			i++
		case c == '\n' && w.line.held:
			w.line.newline(w.out)
			i++
		case w.line.back > 0 && c != '\n':
			i += w.line.over(p[i:find.control(i, true)])
		case w.line.held:
			end := find.control(i, true)
			w.line.draw(w.out, p[i:end])
			i = end
		default:
			end := find.control(i, false)
			w.line.write(w.out, p[i:end])
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
	case isText:
		w.text(w.seq.buf)
		w.text(p[:n])
	case isCSI:
		switch columns, ok := w.seq.columns(); {
		case p[n-1] == 'G' && ok && columns == 1:
			// Programs that run on Node redraw lines that way.
			w.line.carriageReturn()
		case bytes.IndexByte([]byte("ABEFHdf"), p[n-1]) >= 0:
			w.line.leave()
		case p[n-1] == 'D' && ok:
			w.line.left(columns)
		case p[n-1] == 'C' && ok:
			w.text(spaces[:min(w.line.right(columns), len(spaces))])
		}
	}
	w.seq.reset()
	return n
}

// spaces are the most that a cursor which moves beyond the text leaves behind.
var spaces = bytes.Repeat([]byte{' '}, 80)

// text takes text without a newline where the cursor stands.
func (w *Writer) text(b []byte) {
	b = b[w.line.over(b):]
	if w.line.held {
		w.line.draw(w.out, b)
	} else {
		w.line.write(w.out, b)
	}
}

// Pending returns the text that is held back, as [Writer.Flush] would write it
// now: the newest state of a line that is being redrawn, with a newline before
// it because it stands on a line of its own, and a sequence that has begun. If
// nothing is held back, or nothing that Flush would write, Pending returns nil.
//
// Pending is a preview. It follows all text that has been written, but the next
// write may replace it, so it is no part of the stream yet.
func (w *Writer) Pending() []byte { return w.line.rest(w.seq.buf) }

// Flush ends the stream and writes the text that is held back: a sequence that
// has not ended is text, and the current state of a line is its newest. Flush
// writes no newline after it. The Writer is then as new, and the next write
// begins another stream.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.through(w.Pending())
		w.seq.reset()
		w.line.reset()
	}
	return w.err
}

// controls are the bytes that the finder finds. A newline comes last, because it matters
// only in a line that is held back.
const controls = "\x1b\r\b\n"

// A finder finds the next control in p. It reads no byte twice for the same one.
type finder struct {
	p    []byte
	next [len(controls)]int // where the next one of each is; len(p) if none is left
}

// control returns the index of the next control at or after an index.
func (f *finder) control(from int, newline bool) int {
	end := len(f.p)
	for k := range f.next {
		if k == len(controls)-1 && !newline {
			break
		}
		if f.next[k] < from {
			f.next[k] = len(f.p)
			if i := bytes.IndexByte(f.p[from:], controls[k]); i >= 0 {
				f.next[k] = from + i
			}
		}
		end = min(end, f.next[k])
	}
	return end
}
