// Package filehttp serves the files of one machine over HTTP, and is the client of
// that. Who may call the handler is decided as in package prochttp, beside whose handler
// it can stand behind the same token: none of the two has an endpoint of the other.
//
//	POST /read    procfile.ReadRequest   → procfile.ReadResult
//	POST /write   procfile.WriteRequest  → procfile.WriteResult
//	POST /edit    procfile.EditRequest   → procfile.EditResult
//
// Requests and answers are JSON, and each answer has the header Toolproc-Files. An answer
// other than 200 is {"code":"…","detail":"…"}: the code stands for an error of package
// procfile or procmgr.
//
// # Lost answers
//
// A write is sent once. If its answer is lost, it may have been written, and the client's
// error is procmgr.ErrUnknown: the caller reads the file to find out.
package filehttp

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	pathRead  = "/read"
	pathWrite = "/write"
	pathEdit  = "/edit"

	headerFiles = "Toolproc-Files" // on each answer of a handler

	codeUnauthorized = "unauthorized"
	codeForbidden    = "forbidden"
	codeInternal     = "internal"
)

// codes maps an error to its code and status, and back. Of several errors that match,
// the first counts. The codes below the empty line are the handler's own.
var codes = []struct {
	code   string
	status int
	err    error
}{
	{"unknown", http.StatusInternalServerError, procmgr.ErrUnknown},
	{"closed", http.StatusServiceUnavailable, procmgr.ErrClosed},
	{"refused", http.StatusForbidden, procmgr.ErrRefused},
	{"limit", http.StatusTooManyRequests, procmgr.ErrLimit},
	{"invalid", http.StatusBadRequest, procmgr.ErrInvalid},
	{"unsupported", http.StatusNotImplemented, errors.ErrUnsupported},
	{"changed", http.StatusConflict, procfile.ErrChanged},
	{"not_text", http.StatusUnprocessableEntity, procfile.ErrNotText},
	{"no_place", http.StatusUnprocessableEntity, procfile.ErrNoPlace},
	{"ambiguous", http.StatusUnprocessableEntity, procfile.ErrAmbiguous},
	{"no_file", http.StatusNotFound, fs.ErrNotExist},
	{"no_permission", http.StatusForbidden, fs.ErrPermission},

	{codeUnauthorized, http.StatusUnauthorized, procmgr.ErrRefused},
	{codeForbidden, http.StatusForbidden, procmgr.ErrRefused},
}

// A failure is the body of every answer that is an error.
type failure struct {
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}
