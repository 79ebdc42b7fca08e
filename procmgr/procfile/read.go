package procfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// Read implements [Files]. It reads the file to its end, to count the lines, and
// takes bounded memory whatever the size. What is appended to the file meanwhile does
// not count.
func (l *Local) Read(ctx context.Context, req ReadRequest) (ReadResult, error) {
	res, err := l.read(ctx, req)
	return res, wrap("read", req.Path, err)
}

func (l *Local) read(ctx context.Context, req ReadRequest) (ReadResult, error) {
	if err := ctx.Err(); err != nil {
		return ReadResult{}, err
	}
	p, err := l.existing(req.Path)
	if err != nil {
		return ReadResult{}, err
	}
	f, err := l.open(p)
	if err != nil {
		return ReadResult{}, l.explain(p.path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ReadResult{}, l.explain(p.path, err)
	}
	if err := isText(p.path, info); err != nil { // it may have been replaced since
		return ReadResult{}, err
	}
	s, err := survey(ctx, f, info)
	if err != nil {
		return ReadResult{}, l.unread(ctx, p.path, err)
	}
	if s.binary {
		return ReadResult{}, errBinary(p.path, s.size)
	}
	first := req.Offset
	switch {
	case first < 0:
		first = max(s.total+first+1, 1)
	case first == 0:
		first = 1
	}
	if first > max(s.total, 1) {
		return ReadResult{}, xerrors.Errorf("%s has %s, and offset is %d: %w", p.path, counted(s.total), req.Offset, procmgr.ErrInvalid)
	}
	limit := req.Limit
	if limit <= 0 || limit > MaxLines {
		limit = MaxLines
	}
	res := ReadResult{FileInfo: s.info(p.path), From: first, Lines: []Line{}}
	w := &window{from: first, limit: limit, set: l.secrets()}
	if err := s.collect(ctx, f, w); err != nil {
		return ReadResult{}, l.unread(ctx, p.path, err)
	}
	res.Lines, res.Redacted, res.Invalid = w.lines()
	if w.isBinary() {
		return ReadResult{}, errBinary(p.path, s.size)
	}
	return res, nil
}

func (l *Local) unread(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.explain(path, err)
}

func counted(lines int64) string {
	if lines == 1 {
		return "1 line"
	}
	return strconv.FormatInt(lines, 10) + " lines"
}

func errBinary(path string, size int64) error {
	return xerrors.Errorf("%s is binary, %d bytes; look at it with a command, such as file or xxd: %w", path, size, ErrNotText)
}

// existing finds a file that is there. If it is missing, the error has the names
// that are nearest to it.
func (l *Local) existing(path string) (place, error) {
	p, err := l.find(path)
	if err != nil {
		return place{}, err
	}
	if p.info == nil {
		return place{}, l.missing(p)
	}
	return p, isText(p.path, p.info)
}

// isText returns an error unless a file is a regular one.
func isText(path string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return xerrors.Errorf("%s is a directory; list it with a command, such as ls: %w", path, ErrNotText)
	}
	return xerrors.Errorf("%s is no regular file but %s; use a command for it: %w", path, kindOf(info.Mode()), ErrNotText)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

const (
	// chunk is how much is read at a time, in bytes.
	chunk = 256 << 10
	// headSize is how much of a file decides whether it is text, in bytes.
	headSize = 8 << 10
	// maxUnsized is how much is read of a file that says that it is empty, as those do
	// in which the kernel describes itself, in bytes.
	maxUnsized = MaxEdit
	// firstStride is how far marks are apart at first, in bytes. There are at most
	// mostMarks.
	firstStride = 1 << 20
	mostMarks   = 1024
)

// A surveyed file is one that was read once to its end.
type surveyed struct {
	most     int64 // bytes to read
	size     int64 // bytes that were read
	total    int64
	crlf, lf int64 // line ends
	unended  bool
	encoding Encoding
	binary   bool
	version  string
	marks    []mark // in the order of the file; none if it is UTF-16
}

// A mark is where a line begins. With it, lines far behind are found without reading
// all that comes before them.
type mark struct{ line, at int64 }

func (s *surveyed) info(path string) FileInfo {
	return FileInfo{
		Path: path, Size: s.size, Total: s.total, Version: s.version,
		Encoding: s.encoding, Ends: ends(s.lf, s.crlf), Unended: s.unended,
	}
}

func ends(lf, crlf int64) LineEnds {
	switch {
	case lf > 0 && crlf > 0:
		return Mixed
	case crlf > 0:
		return CRLF
	case lf > 0:
		return LF
	}
	return NoEnds
}

// survey counts the lines of a file, and names its version.
func survey(ctx context.Context, f *os.File, info fs.FileInfo) (*surveyed, error) {
	s := &surveyed{most: info.Size()}
	if s.most == 0 {
		s.most = maxUnsized
	}
	in := &counting{from: io.LimitReader(f, s.most)}
	version := newVersioner(info)
	in.tee = version
	head := make([]byte, headSize)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	head = head[:n]
	s.encoding = encodingOf(head)
	order, wide := s.encoding.wide()
	if s.binary = !wide && isBinary(head); s.binary {
		s.size = info.Size()
		return s, nil
	}
	rest := io.MultiReader(bytes.NewReader(head[len(s.encoding.mark()):]), in)
	if wide {
		rest = &wideReader{from: rest, order: order}
	}
	buf := make([]byte, chunk)
	stride, next := int64(firstStride), int64(firstStride)
	at, last := int64(len(s.encoding.mark())), byte('\n')
	for {
		n, err := rest.Read(buf)
		part := buf[:n]
		if n > 0 {
			lines := int64(bytes.Count(part, []byte{'\n'}))
			crlf := int64(0)
			if bytes.IndexByte(part, '\r') >= 0 {
				crlf = int64(bytes.Count(part, []byte("\r\n")))
			}
			if part[0] == '\n' && last == '\r' {
				crlf++
			}
			if !wide && at+int64(n) > next {
				if i := bytes.IndexByte(part, '\n'); i >= 0 {
					s.marks = append(s.marks, mark{line: s.crlf + s.lf + 2, at: at + int64(i) + 1})
					if len(s.marks) == mostMarks {
						for k := range mostMarks / 2 {
							s.marks[k] = s.marks[2*k+1]
						}
						s.marks, stride = s.marks[:mostMarks/2], 2*stride
					}
					next = at + stride
				}
			}
			s.crlf, s.lf = s.crlf+crlf, s.lf+lines-crlf
			last = part[n-1]
			at += int64(n)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	s.total = s.lf + s.crlf
	if s.unended = at > int64(len(s.encoding.mark())) && last != '\n'; s.unended {
		s.total++
	}
	s.size, s.version = in.n, version.String()
	return s, nil
}

// A counting reader counts what it reads, and shows it to another.
type counting struct {
	from io.Reader
	tee  io.Writer
	n    int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	_, _ = c.tee.Write(p[:n]) // it never fails
	return n, err
}

// isBinary reports whether the beginning of a file is no text: it has a NUL, or
// three of ten bytes are controls or no UTF-8. A hole at either end of it says nothing:
// a file that was cut while a program wrote to it begins with one.
func isBinary(head []byte) bool {
	if len(head) == headSize {
		head = bytes.Trim(head, "\x00")
	}
	return bytes.IndexByte(head, 0) >= 0 || odd(head)*10 > len(head)*3
}

// odd counts the bytes of a text that are controls or no UTF-8.
func odd(text []byte) int {
	n := 0
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1 && utf8.FullRune(text):
			n++
		case r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != '\x1b', r == '\x7f':
			n++
		}
		text = text[size:]
	}
	return n
}

// collect reads the lines of a window.
func (s *surveyed) collect(ctx context.Context, f *os.File, w *window) error {
	at, line := int64(0), int64(1)
	for i, m := range s.marks {
		// The one before is taken, so that a value that begins before the window is
		// seen whole.
		if m.line > w.from {
			break
		}
		if i > 0 {
			at, line = s.marks[i-1].at, s.marks[i-1].line
		}
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	var in io.Reader = io.LimitReader(f, s.most-at)
	if at == 0 {
		if _, err := io.CopyN(io.Discard, in, int64(len(s.encoding.mark()))); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	if order, wide := s.encoding.wide(); wide {
		in = &wideReader{from: in, order: order}
	}
	w.at = line
	buf := make([]byte, chunk)
	for {
		n, err := in.Read(buf)
		if w.take(buf[:n]) || errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}
