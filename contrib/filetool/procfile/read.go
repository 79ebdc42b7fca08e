package procfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/filetool/internal/callerr"
	"github.com/toolproc/toolproc/procmgr"
)

// Read implements [Files]. It reads the file to its end, to count the lines, and
// takes bounded memory whatever the size. After ten seconds it returns the lines that it
// has found, if those are all that were asked for. What is appended to the file meanwhile
// does not count.
func (l *Local) Read(ctx context.Context, req ReadRequest) (ReadResult, error) {
	res, err := l.read(ctx, req)
	return res, callerr.In("procfile", "read", req.Path, err)
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
	// Some files of /proc are regular, and a read of them waits. Others have no deadline.
	_ = f.SetReadDeadline(time.Now().Add(waitTime))
	within, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()

	limit := req.Limit
	if limit <= 0 || limit > MaxLines {
		limit = MaxLines
	}
	s := &survey{most: info.Size(), last: '\n'}
	if s.most == 0 {
		s.most = maxUnsized
	}
	version := newVersioner(info)
	w := newWindow(max(req.Offset, 1), limit, l.secrets())
	found := false
	err = s.scan(within, f, version, func(part []byte) bool {
		s.count(part)
		found = found || req.Offset >= 0 && w.take(part)
		return false
	})
	partial := err != nil && found && ctx.Err() == nil && within.Err() != nil && info.Size() > MaxEdit
	if err != nil && !partial {
		return ReadResult{}, l.unread(ctx, p.path, err)
	}
	if s.binary {
		return ReadResult{}, errBinary(p.path, info.Size())
	}
	res := ReadResult{FileInfo: s.info(p.path, version.n, version.String()), Lines: []Line{}, Partial: partial}
	if partial {
		res.Size = info.Size()
	}
	if req.Offset < 0 {
		w.from = max(res.Total+req.Offset+1, 1)
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return ReadResult{}, l.explain(p.path, err)
		}
		if err := s.scan(within, f, io.Discard, w.take); err != nil {
			return ReadResult{}, l.unread(ctx, p.path, err)
		}
	}
	if res.From = w.from; w.from > max(res.Total, 1) {
		return ReadResult{}, xerrors.Errorf("%s has %s, and offset is %d: %w", p.path, counted(res.Total, "line", "lines"), req.Offset, procmgr.ErrInvalid)
	}
	res.Lines, res.Redacted, res.Invalid = w.lines()
	if w.isBinary() {
		return ReadResult{}, errBinary(p.path, res.Size)
	}
	return res, nil
}

// unread returns the error of a file that was not read to its end.
func (l *Local) unread(ctx context.Context, path string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return xerrors.Errorf("%s is no plain file, and to read it would be to wait; use a command that ends, such as timeout 5 cat: %w", path, ErrNotText)
	case errors.Is(err, context.DeadlineExceeded):
		return xerrors.Errorf("%s was read for %v and is longer; use a command, such as tail or grep: %w", path, readTime, procmgr.ErrLimit)
	}
	return l.explain(path, err)
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

func errBinary(path string, size int64) error {
	return xerrors.Errorf("%s is binary, %d bytes; look at it with a command, such as file or xxd, and iconv if it is UTF-16: %w", path, size, ErrNotText)
}

// existing finds a file that is there.
func (l *Local) existing(path string) (place, error) {
	p, err := l.find(path)
	if err != nil {
		return place{}, err
	}
	if p.info == nil {
		return place{}, missing(p)
	}
	return p, isText(p.path, p.info)
}

// missing returns the error of a file that is not there. It names the part of the path
// that is missing.
func missing(p place) error {
	what, dir, name, there := "file", p.dir(), p.name(), ""
	for range p.parents {
		what, dir, name, there = "directory", filepath.Dir(dir), filepath.Base(dir), ", so that there is no "+p.path
	}
	return xerrors.Errorf("there is no %s %s in %s%s; look for it with a command, such as ls or find: %w", what, name, dir, there, fs.ErrNotExist)
}

// isText returns an error unless a file is a regular one.
func isText(path string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return xerrors.Errorf("%s is a directory; list it with a command, such as ls: %w", path, ErrNotText)
	}
	return xerrors.Errorf("%s is no regular file (%s); use a command for it: %w", path, info.Mode(), ErrNotText)
}

const (
	// chunk is how much is read at a time, in bytes.
	chunk = 256 << 10
	// headSize is how much of a file decides whether it is text, in bytes.
	headSize = 8 << 10
	// maxUnsized is how much is read of a file that says that it is empty, as those do
	// in which the kernel describes itself, in bytes.
	maxUnsized = MaxEdit
	// readTime is how long a file is read, and waitTime how long one whose reads may block,
	// such as /proc/kmsg.
	readTime = 10 * time.Second
	waitTime = time.Second
)

// A survey has the facts of a file that was read once.
type survey struct {
	most     int64 // bytes to read
	crlf, lf int64 // line ends
	last     byte
	encoding Encoding
	binary   bool
}

func (s *survey) info(path string, size int64, version string) FileInfo {
	i := FileInfo{Path: path, Size: size, Total: s.lf + s.crlf, Version: version, Encoding: s.encoding, Unended: s.last != '\n'}
	if i.Unended {
		i.Total++
	}
	switch {
	case s.lf > 0 && s.crlf > 0:
		i.Ends = Mixed
	case s.crlf > 0:
		i.Ends = CRLF
	case s.lf > 0:
		i.Ends = LF
	}
	return i
}

// count counts the lines of a part.
func (s *survey) count(part []byte) {
	if len(part) == 0 {
		return
	}
	lines, crlf := int64(bytes.Count(part, []byte{'\n'})), int64(bytes.Count(part, []byte("\r\n")))
	if part[0] == '\n' && s.last == '\r' {
		crlf++
	}
	s.crlf, s.lf, s.last = s.crlf+crlf, s.lf+lines-crlf, part[len(part)-1]
}

// scan reads a file from its beginning, shows its bytes to tee, and its text to take
// until that needs no more.
func (s *survey) scan(ctx context.Context, f *os.File, tee io.Writer, take func(part []byte) (done bool)) error {
	in := io.TeeReader(io.LimitReader(f, s.most), tee)
	head := make([]byte, headSize)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	head = head[:n]
	if s.binary = isBinary(head); s.binary {
		return nil
	}
	s.encoding, head = textOf(head)
	rest := io.MultiReader(bytes.NewReader(head), in)
	for buf := make([]byte, chunk); ; {
		n, err := rest.Read(buf)
		if n > 0 && take(buf[:n]) || errors.Is(err, io.EOF) {
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

// A versioner names the version of a file whose content is written to it: by the
// content, or by size and time if the file is too large to be edited.
type versioner struct {
	info fs.FileInfo
	sum  hash.Hash // nil: by size and time
	n    int64     // bytes of content
}

func newVersioner(info fs.FileInfo) *versioner {
	v := &versioner{info: info}
	if info.Size() <= MaxEdit {
		v.sum = sha256.New()
	}
	return v
}

func (v *versioner) Write(p []byte) (int, error) {
	if v.n += int64(len(p)); v.sum == nil {
		return len(p), nil
	}
	return v.sum.Write(p)
}

func (v *versioner) String() string {
	if v.sum == nil {
		return fmt.Sprintf("stat-%d-%d", v.info.Size(), v.info.ModTime().UnixNano())
	}
	return "sha256-" + hex.EncodeToString(v.sum.Sum(nil)[:16])
}

// versionOf returns the version of a content that can be edited.
func versionOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256-" + hex.EncodeToString(sum[:16])
}
