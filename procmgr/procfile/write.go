package procfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// Write implements [Files].
func (l *Local) Write(ctx context.Context, req WriteRequest) (WriteResult, error) {
	res, err := doOnce(ctx, &l.once, req.Key, keyed("write", req.Path, req.Version, req.Content), func() (WriteResult, error) {
		return l.doWrite(ctx, req)
	})
	return res, wrap("write", req.Path, err)
}

func (l *Local) doWrite(ctx context.Context, req WriteRequest) (res WriteResult, err error) {
	if !utf8.ValidString(req.Content) {
		return res, xerrors.Errorf("the content is no UTF-8: %w", procmgr.ErrInvalid)
	}
	if strings.HasSuffix(req.Path, "/") {
		return res, xerrors.Errorf("the path ends with a slash, and the name of the file is missing: %w", procmgr.ErrInvalid)
	}
	c, err := l.begin(ctx)
	if err != nil {
		return res, err
	}
	defer func() { err = c.end(err) }()
	p, err := l.find(req.Path)
	if err != nil {
		return res, err
	}
	if p.info != nil {
		if err := isText(p.path, p.info); err != nil {
			return res, err
		}
	} else if req.Version != "" {
		return res, xerrors.Errorf("%s was deleted since it was read: %w", p.path, ErrChanged)
	}
	if err := c.lock(ctx, p); err != nil {
		return res, err
	}
	// Only now nobody else writes there.
	old, err := c.current(ctx, p)
	if err != nil {
		return res, err
	}
	if err := old.is(p.path, req.Version); err != nil {
		return res, err
	}
	encoding, text := UTF8, req.Content
	if old != nil {
		encoding = old.encoding
		text = strings.TrimPrefix(text, "\ufeff")
		if encoding == UTF8 {
			text = req.Content
		}
		res.Before = old.total
	}
	if err := checkMarkers(l.secrets(), old.text(), text); err != nil {
		return res, err
	}
	data := encoding.encode(text)
	res.Created = old == nil
	res.FileInfo = describe(p.path, data)
	if err := c.stage(ctx, p, old, data); err != nil {
		return res, err
	}
	return res, c.commit(ctx)
}

// describe returns what is known of a file with a content.
func describe(path string, data []byte) FileInfo {
	encoding := encodingOf(data)
	text, _ := encoding.decode(data)
	i := FileInfo{Path: path, Size: int64(len(data)), Encoding: encoding, Version: versionOf(data)}
	crlf := int64(strings.Count(text, "\r\n"))
	lf := int64(strings.Count(text, "\n")) - crlf
	i.Total, i.Ends = lf+crlf, ends(lf, crlf)
	if i.Unended = text != "" && !strings.HasSuffix(text, "\n"); i.Unended {
		i.Total++
	}
	return i
}

// A content is what a file has before it is written.
type content struct {
	info     fs.FileInfo
	data     []byte // nil if the file is too large to be edited
	encoding Encoding
	version  string
	total    int64 // lines
}

// text returns the text of a file, and "" if there is none.
func (c *content) text() string {
	if c == nil || c.data == nil {
		return ""
	}
	text, _ := c.encoding.decode(c.data)
	return text
}

// is returns an error if the file has not a version.
func (c *content) is(path, version string) error {
	switch {
	case version == "":
	case c == nil:
		return xerrors.Errorf("%s was deleted since it was read: %w", path, ErrChanged)
	case c.version != version:
		return xerrors.Errorf("%s has changed since it was read; read it again: %w", path, ErrChanged)
	}
	return nil
}

// current reads a file that is to be written, or returns nil if there is none. Its
// directory is locked.
func (c *change) current(ctx context.Context, p place) (*content, error) {
	l := c.l
	f, err := c.dirs[p.dir()].root.OpenFile(p.name(), os.O_RDONLY|noWait, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, l.explain(p.path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, l.explain(p.path, err)
	}
	if err := isText(p.path, info); err != nil {
		return nil, err
	}
	was := &content{info: info, encoding: UTF8}
	if info.Size() > MaxEdit {
		head := make([]byte, utf8.UTFMax)
		n, err := io.ReadFull(f, head)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, l.unread(ctx, p.path, err)
		}
		was.encoding, was.version = encodingOf(head[:n]), newVersioner(info).String()
		return was, nil
	}
	if was.data, err = io.ReadAll(io.LimitReader(f, MaxEdit+1)); err != nil {
		return nil, l.unread(ctx, p.path, err)
	}
	i := describe(p.path, was.data)
	was.encoding, was.version, was.total = i.Encoding, i.Version, i.Total
	return was, nil
}

// writable returns an error if a file may not be written by this user. A rename asks
// for no permission of the file.
func writable(dir *os.Root, name string) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|noWait, 0)
	if err != nil && !isBusy(err) {
		return err
	}
	if err == nil {
		_ = f.Close() // nothing was written
	}
	return nil
}
