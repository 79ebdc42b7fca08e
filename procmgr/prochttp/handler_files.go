package prochttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procfile"
)

// fileTime is how long a request for files may take beyond that of any other: a long
// file is read to its end.
const fileTime = time.Minute

// errNoFiles is the error of a handler without HandlerOptions.Files.
var errNoFiles = xerrors.Errorf("this server serves no files: %w", errors.ErrUnsupported)

// read serves lines of a file.
func (r *request) read() {
	var body struct {
		procfile.ReadRequest
		baseFields
	}
	r.file(&body, &body.baseFields, func(ctx context.Context, files procfile.Files) (any, error) {
		return files.Read(ctx, body.ReadRequest)
	})
}

// write serves a write. The Files remember the keys, so a repeated request writes
// nothing.
func (r *request) write() {
	var body struct {
		procfile.WriteRequest
		baseFields
	}
	r.file(&body, &body.baseFields, func(ctx context.Context, files procfile.Files) (any, error) {
		if err := r.writable(); err != nil {
			return nil, err
		}
		return files.Write(context.WithoutCancel(ctx), body.WriteRequest)
	})
}

// edit serves edits, as write does.
func (r *request) edit() {
	var body struct {
		procfile.EditRequest
		baseFields
	}
	r.file(&body, &body.baseFields, func(ctx context.Context, files procfile.Files) (any, error) {
		if err := r.writable(); err != nil {
			return nil, err
		}
		return files.Edit(context.WithoutCancel(ctx), body.EditRequest)
	})
}

// writable returns an error if a request must not write. An earlier attempt may have
// reached another server, which alone knows its key.
func (r *request) writable() error {
	if meant := r.Header.Get(headerInstance); meant != "" && meant != r.h.instance {
		return errElsewhere
	}
	if r.h.opts.Context.Err() != nil {
		return xerrors.Errorf("the server is shutting down, nothing was written: %w", procmgr.ErrClosed)
	}
	return nil
}

// errElsewhere is the error of a write that may have been done by another server.
var errElsewhere = xerrors.New("an earlier attempt may have written, and this one has not")

// file reads the body of a request for files, and answers it.
func (r *request) file(body any, from *baseFields, do func(ctx context.Context, files procfile.Files) (any, error)) {
	files := r.h.opts.Files
	if files == nil {
		r.failWith(errNoFiles, nil)
		return
	}
	if !r.bodyOf(body, r.h.maxFile, "write a long file by a command, or change it by edits") {
		return
	}
	base, err := r.base(from)
	if err != nil {
		r.failWith(err, nil)
		return
	}
	if base, err = r.h.bases.whole(base); err != nil {
		r.fail(failure{Code: codeNoBase, Detail: "nothing was done; send base_env and base_withheld"})
		return
	}
	if local, ok := files.(*procfile.Local); ok && base != nil {
		files = local.From(base)
	}
	r.extend(fileTime)
	ctx, cancel := context.WithTimeout(r.Context(), fileTime)
	defer cancel()
	res, err := do(ctx, files)
	switch {
	case errors.Is(err, errElsewhere):
		r.fail(failure{Code: codeRestarted, Detail: err.Error()})
	case err != nil:
		r.failWith(err, nil)
	default:
		r.answer(http.StatusOK, res)
	}
}
