package prochttp

import (
	"context"
	"net/http"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/procfile"
)

var (
	_ procfile.Files = (*Client)(nil)
	_ procfile.Files = (*manager)(nil) // what Chat returns, for a caller who may act for chats alone
)

// Read implements [procfile.Files] with the files of HandlerOptions.Files. The
// Manager that Chat returns implements it too, for a caller that may act for chats
// alone. If the handler has no files, the error is [errors.ErrUnsupported].
func (c *Client) Read(ctx context.Context, req procfile.ReadRequest) (procfile.ReadResult, error) {
	return c.all.Read(ctx, req)
}

// Write implements [procfile.Files]. If the answer is lost, the client asks again with
// the same key, so that nothing is written twice. If no answer comes at all, or the
// server was restarted since, the error is [procmgr.ErrUnknown].
func (c *Client) Write(ctx context.Context, req procfile.WriteRequest) (procfile.WriteResult, error) {
	return c.all.Write(ctx, req)
}

// Edit implements [procfile.Files] in the same way as Write.
func (c *Client) Edit(ctx context.Context, req procfile.EditRequest) (procfile.EditResult, error) {
	return c.all.Edit(ctx, req)
}

func (m *manager) Read(ctx context.Context, req procfile.ReadRequest) (res procfile.ReadResult, err error) {
	err = m.file(ctx, pathRead, req, &res, false, req.Path)
	return res, callerr.In("prochttp", "read", req.Path, err)
}

func (m *manager) Write(ctx context.Context, req procfile.WriteRequest) (res procfile.WriteResult, err error) {
	if req.Key == "" {
		req.Key = newKey()
	}
	err = m.file(ctx, pathWrite, req, &res, true, req.Path, req.Content, req.Version, req.Key)
	return res, callerr.In("prochttp", "write", req.Path, err)
}

func (m *manager) Edit(ctx context.Context, req procfile.EditRequest) (res procfile.EditResult, err error) {
	if req.Key == "" {
		req.Key = newKey()
	}
	texts := []string{req.Key}
	for _, f := range req.Files {
		texts = append(texts, f.Path, f.Version)
		for _, e := range f.Edits {
			texts = append(texts, e.Search, e.Replace)
		}
	}
	err = m.file(ctx, pathEdit, req, &res, true, texts...)
	return res, callerr.In("prochttp", "edit", "", err)
}

// file sends a request for files. texts are those in it, which JSON must not change.
func (m *manager) file(ctx context.Context, path string, req, into any, writes bool, texts ...string) error {
	if err := m.check(); err != nil {
		return err
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return errNotUTF8("request")
		}
	}
	body, err := encode(req)
	if err != nil {
		return err
	}
	var base baseFields
	base.setBase(m.base)
	c := &call{manager: m, method: http.MethodPost, path: path, body: base.added(body), into: into, wait: fileTime}
	if writes {
		if c.first = m.c.seen.now(); c.first == "" && m.c.answers(ctx) {
			c.first = m.c.seen.now()
		} // another server does not know the key
	}
	answer, err := m.c.call(ctx, c)
	if answer != nil && answer.failure.Code == codeNoBase && base.BaseSum != "" {
		base.setWholeBase(m.base) // this handler has not seen the environment yet
		c.body = base.added(body)
		answer, err = m.c.call(ctx, c)
	}
	switch {
	case err != nil && answer == nil && writes && c.mayHaveArrived:
		return unknown(xerrors.Errorf("it may have been written: %w", err))
	case err != nil:
		return err
	}
	if answer.unread != nil && writes {
		return unknown(answer.unread)
	}
	return answer.unread
}

var _ procmgr.Manager = (*manager)(nil)
