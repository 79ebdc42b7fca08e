package procfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/filetool/internal/callerr"
	"github.com/toolproc/toolproc/procmgr"
)

// Write implements [Files].
func (l *Local) Write(ctx context.Context, req WriteRequest) (res WriteResult, err error) {
	err = l.change(ctx, func(c *change) error {
		res, err = c.write(ctx, req)
		return err
	})
	return res, callerr.In("procfile", "write", req.Path, err)
}

func (c *change) write(ctx context.Context, req WriteRequest) (res WriteResult, err error) {
	if !utf8.ValidString(req.Content) {
		return res, xerrors.Errorf("the content is no UTF-8: %w", procmgr.ErrInvalid)
	}
	if strings.HasSuffix(req.Path, "/") {
		return res, xerrors.Errorf("the path ends with a slash, and the name of the file is missing: %w", procmgr.ErrInvalid)
	}
	p, err := c.l.find(req.Path)
	if err != nil {
		return res, err
	}
	if p.info != nil {
		if err := isText(p.path, p.info); err != nil {
			return res, err
		}
	} else if req.Version != "" && req.Version != Absent {
		return res, xerrors.Errorf("%s was deleted since it was read: %w", p.path, ErrChanged)
	}
	if err := c.lock(ctx, p); err != nil {
		return res, err
	}
	// Other writers are locked out only now.
	old, err := c.current(ctx, p)
	if err != nil {
		return res, err
	}
	if err := old.is(p.path, req.Version); err != nil {
		return res, err
	}
	encoding, text := UTF8, req.Content
	if old != nil {
		if encoding = old.Encoding; encoding != UTF8 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if old.Ends == CRLF && !strings.Contains(text, "\r\n") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		res.Before, res.Lost = old.FileInfo, old.lost
	}
	if err := c.l.secrets().checkMarkers(old.text(), text); err != nil {
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
	encoding, text := textOf(data)
	s := &survey{encoding: encoding, last: '\n'}
	s.count(text)
	return s.info(path, int64(len(data)), versionOf(data))
}

// A content is what a file has before it is written. Of one that is too large to be
// edited, data is nil, and FileInfo has what its beginning tells.
type content struct {
	FileInfo
	info fs.FileInfo
	data []byte
	lost []string // what another file would not have
}

// text returns the text of a file, and "" if there is none.
func (c *content) text() string {
	if c == nil {
		return ""
	}
	_, text := textOf(c.data)
	return string(text)
}

// is returns an error if the file has not a version.
func (c *content) is(path, version string) error {
	switch {
	case version == "":
	case version == Absent:
		if c != nil && c.Size > 0 {
			return xerrors.Errorf("%s is there already: %w", path, ErrChanged)
		}
	case c == nil:
		return xerrors.Errorf("%s was deleted since it was read: %w", path, ErrChanged)
	case c.Version != version:
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
	_ = f.SetReadDeadline(time.Now().Add(waitTime)) // as in read
	data, err := io.ReadAll(io.LimitReader(f, MaxEdit+1))
	if err != nil {
		return nil, l.unread(ctx, p.path, err)
	}
	was := &content{describe(p.path, data), info, data, attributes(f)}
	if n := links(info); n > 1 {
		was.lost = append(was.lost, counted(int64(n-1), "further hard link", "further hard links"))
	}
	if len(data) > MaxEdit {
		was.data, was.Total, was.Size, was.Version = nil, 0, info.Size(), newVersioner(info).String()
	}
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
