package prochttp

import (
	"cmp"
	"errors"
	"net/http"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
)

// A code names the reason of an error on the wire.
type code string

// The codes that the package names. The handler's own codes come last.
const (
	codeClosed   code = "closed"
	codeRefused  code = "refused"
	codeNotReady code = "not_ready"

	codeUnauthorized code = "unauthorized"
	codeForbidden    code = "forbidden"
	codeNoEndpoint   code = "no_endpoint"
	codeMethod       code = "method"
	codeMediaType    code = "media_type"
	codeTooLarge     code = "too_large"
	codeBusy         code = "busy"
	codeRestarted    code = "restarted"
	codePartial      code = "partial"
	codeInternal     code = "internal"
)

// A meaning is what a code stands for.
type meaning struct {
	code     code
	status   int
	sentinel error  // the error that a Client's error matches; nil: none
	detail   string // of a failure that has no other one; "": the text of the sentinel
}

// codes is the one table that maps an error to its code and status, and back.
// docs/protocol.md shows it. The first rows stand for an error of a Host: if an error
// matches several of them, the first one counts. The rows below the empty line are the
// handler's own.
var codes = []meaning{
	{"unknown", http.StatusInternalServerError, procmgr.ErrUnknown, ""},
	{codeClosed, http.StatusServiceUnavailable, procmgr.ErrClosed, ""},
	{codeRefused, http.StatusForbidden, procmgr.ErrRefused, ""},
	{"limit", http.StatusTooManyRequests, procmgr.ErrLimit, ""},
	{"conflict", http.StatusConflict, procmgr.ErrConflict, ""},
	{"not_running", http.StatusConflict, procmgr.ErrNotRunning, ""},
	{codeNotReady, http.StatusConflict, procmgr.ErrNotReady, ""},
	{"not_found", http.StatusNotFound, procmgr.ErrNotFound, ""},
	{"invalid", http.StatusBadRequest, procmgr.ErrInvalid, ""},
	{"unsupported", http.StatusNotImplemented, errors.ErrUnsupported, ""},

	{codeUnauthorized, http.StatusUnauthorized, procmgr.ErrRefused, "the credentials are missing or wrong"},
	{codeForbidden, http.StatusForbidden, procmgr.ErrRefused, "the request is not allowed"},
	{codeNoEndpoint, http.StatusNotFound, nil, "there is no such endpoint"},
	{codeMethod, http.StatusMethodNotAllowed, nil, "the endpoint does not have this method"},
	{codeMediaType, http.StatusUnsupportedMediaType, procmgr.ErrInvalid, "the body must be application/json"},
	{codeTooLarge, http.StatusRequestEntityTooLarge, procmgr.ErrInvalid, "the body is too large; write a long command to a script file and run that"},
	{codeBusy, http.StatusTooManyRequests, procmgr.ErrLimit, "too many calls are waiting"},
	{codeRestarted, http.StatusConflict, procmgr.ErrUnknown, "the server was restarted since; nothing was started, and what ran before is not known here"},
	// A *procmgr.PartialError: it has the machines, so that no value stands for it.
	{codePartial, http.StatusBadGateway, nil, "some machines have not answered"},
	{codeInternal, http.StatusInternalServerError, nil, "the call failed"},
}

// meaning returns the row of a code. An unknown code counts as internal.
func (c code) meaning() meaning {
	for _, row := range codes {
		if row.code == c {
			return row
		}
	}
	return codes[len(codes)-1]
}

// A failure is the body of every answer that is an error.
type failure struct {
	Code   code   `json:"code"`
	Detail string `json:"detail"` // what happened, and what to do about it
	// Result is set if a process may have begun although the call failed. It
	// has everything that is known of the process.
	Result *procmgr.Output `json:"result,omitempty"`
	// Written is how many bytes of an input were written although the call
	// failed.
	Written int `json:"written,omitempty"`
	// Missing has the machines behind the Host that have not answered, and
	// why. List and Page are then what a list or events got from the others.
	Missing map[string]string  `json:"missing,omitempty"`
	List    *procmgr.ListPage  `json:"list,omitempty"`
	Page    *procmgr.EventPage `json:"page,omitempty"`
}

// failureOf describes an error of a Host. The detail leaves out the call and the
// sentinel, because the client adds both itself.
func failureOf(err error) failure {
	f := failure{Code: codeInternal, Detail: procmgr.Reason(err)}
	for _, row := range codes {
		if row.sentinel != nil && errors.Is(err, row.sentinel) {
			f.Code = row.code // the codes of a Host come before the handler's own
			break
		}
	}
	if errors.Is(err, errBusy) {
		f.Code = codeBusy
	}
	if partial, ok := errors.AsType[*procmgr.PartialError](err); ok {
		f.Code, f.Missing = codePartial, make(map[string]string, len(partial.Missing))
		for name, why := range partial.Missing {
			f.Missing[name] = procmgr.Reason(why)
		}
	}
	return f
}

// fill sets the detail that a failure has by its code alone.
func (f *failure) fill() (status int) {
	m := f.Code.meaning()
	if f.Detail == "" && m.detail == "" {
		f.Detail = m.sentinel.Error()
	}
	f.Detail = cmp.Or(f.Detail, m.detail)
	return m.status
}

// err returns the failure as an error: its text, and the sentinel that its code
// stands for.
func (f failure) err() error {
	if len(f.Missing) > 0 {
		partial := &procmgr.PartialError{Missing: make(map[string]error, len(f.Missing))}
		for name, why := range f.Missing {
			partial.Missing[name] = xerrors.New(why)
		}
		return partial
	}
	switch sentinel := f.Code.meaning().sentinel; {
	case sentinel == nil:
		return xerrors.New(f.Detail)
	case f.Detail == "" || f.Detail == sentinel.Error():
		return sentinel
	default:
		return xerrors.Errorf("%s: %w", f.Detail, sentinel)
	}
}

// wrap adds to an error which call on which process failed.
func wrap(verb, id string, err error) error { return callerr.In("prochttp", verb, id, err) }

// unknown makes the error of a start that may have happened.
func unknown(err error) error {
	if errors.Is(err, procmgr.ErrUnknown) {
		return err
	}
	return xerrors.Errorf("%v: %w", err, procmgr.ErrUnknown)
}
