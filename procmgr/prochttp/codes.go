package prochttp

import (
	"errors"
	"net/http"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
)

// A code names the reason of an error on the wire.
type code string

// The first codes stand for an error of a Host. If an error matches several of
// them, the first one counts. The codes below the empty line are the handler's
// own.
const (
	codeUnknown    code = "unknown"
	codeClosed     code = "closed"
	codeRefused    code = "refused"
	codeLimit      code = "limit"
	codeConflict   code = "conflict"
	codeNotRunning code = "not_running"
	codeNotReady   code = "not_ready"
	codeNotFound   code = "not_found"
	codeInvalid    code = "invalid"
	// codeUnsupported: the machine or the Host behind the handler cannot do it.
	codeUnsupported code = "unsupported"

	codeUnauthorized  code = "unauthorized"
	codeForbidden     code = "forbidden"
	codeNoEndpoint    code = "no_endpoint"
	codeMethod        code = "method"
	codeMediaType     code = "media_type"
	codeTooLarge      code = "too_large"
	codeHeaderTooLong code = "header_too_large"
	codeBusy          code = "busy"
	codeRestarted     code = "restarted"
	codePartial       code = "partial"
	codeInternal      code = "internal"
)

// codes is the one table that maps an error to its code and status, and back.
// docs/protocol.md shows it.
var codes = []struct {
	code     code
	status   int
	sentinel error // the error that a Client's error matches; nil: none
	message  string
}{
	{codeUnknown, http.StatusInternalServerError, procmgr.ErrUnknown, ""},
	{codeClosed, http.StatusServiceUnavailable, procmgr.ErrClosed, ""},
	{codeRefused, http.StatusForbidden, procmgr.ErrRefused, ""},
	{codeLimit, http.StatusTooManyRequests, procmgr.ErrLimit, ""},
	{codeConflict, http.StatusConflict, procmgr.ErrConflict, ""},
	{codeNotRunning, http.StatusConflict, procmgr.ErrNotRunning, ""},
	{codeNotReady, http.StatusConflict, procmgr.ErrNotReady, ""},
	{codeNotFound, http.StatusNotFound, procmgr.ErrNotFound, ""},
	{codeInvalid, http.StatusBadRequest, procmgr.ErrInvalid, ""},
	{codeUnsupported, http.StatusNotImplemented, errors.ErrUnsupported, ""},

	{codeUnauthorized, http.StatusUnauthorized, procmgr.ErrRefused, "the credentials are missing or wrong"},
	{codeForbidden, http.StatusForbidden, procmgr.ErrRefused, "the request is not allowed"},
	{codeNoEndpoint, http.StatusNotFound, nil, "there is no such endpoint"},
	{codeMethod, http.StatusMethodNotAllowed, nil, "the endpoint does not have this method"},
	{codeMediaType, http.StatusUnsupportedMediaType, procmgr.ErrInvalid, "the body must be application/json"},
	{codeTooLarge, http.StatusRequestEntityTooLarge, procmgr.ErrInvalid, "the body is too large"},
	{codeHeaderTooLong, http.StatusRequestHeaderFieldsTooLarge, procmgr.ErrInvalid, "the header is too large"},
	{codeBusy, http.StatusTooManyRequests, procmgr.ErrLimit, "too many calls are waiting"},
	{codeRestarted, http.StatusConflict, procmgr.ErrUnknown, "the server was restarted since"},
	// A *procmgr.PartialError: it has the machines, so that no value stands for it.
	{codePartial, http.StatusBadGateway, nil, "some machines have not answered"},
	{codeInternal, http.StatusInternalServerError, nil, "the call failed"},
}

// status returns the HTTP status and the message of a code.
func (c code) status() (status int, message string) {
	for _, row := range codes {
		if row.code == c {
			if row.message == "" {
				return row.status, row.sentinel.Error()
			}
			return row.status, row.message
		}
	}
	return codeInternal.status()
}

// sentinel returns the error that a code stands for, or nil.
func (c code) sentinel() error {
	for _, row := range codes {
		if row.code == c {
			return row.sentinel
		}
	}
	return nil
}

// codeOf returns the code of an error of a Host.
func codeOf(err error) code {
	for _, row := range codes {
		if row.sentinel != nil && errors.Is(err, row.sentinel) {
			return row.code // the codes of a Host come before those of the handler
		}
	}
	return codeInternal
}

// A failure is the body of every answer that is an error.
type failure struct {
	Message string `json:"message"`          // the meaning of the code, always in the same words
	Detail  string `json:"detail,omitempty"` // what happened, and what to do about it
	Code    code   `json:"code"`
	// Result is set if a process may have begun although the call failed. It
	// has everything that is known of the process.
	Result *procmgr.Output `json:"result,omitempty"`
	// Written is how many bytes of an input were written although the call
	// failed.
	Written int `json:"written,omitempty"`
	// Missing has the machines behind the Host that have not answered, and
	// why. List and Page are then what a list or events got from the others.
	Missing map[string]string  `json:"missing,omitempty"`
	List    *listBody          `json:"list,omitempty"`
	Page    *procmgr.EventPage `json:"page,omitempty"`
}

// failureOf describes an error of a Host. The detail leaves out the call and the
// sentinel, because the client adds both itself.
func failureOf(err error) failure {
	c := codeOf(err)
	var missing map[string]string
	var partial *procmgr.PartialError
	if errors.As(err, &partial) {
		c, missing = codePartial, make(map[string]string, len(partial.Missing))
		for name, why := range partial.Missing {
			missing[name] = procmgr.Reason(why)
		}
	}
	_, message := c.status()
	detail := procmgr.Reason(err)
	if sentinel := c.sentinel(); sentinel != nil && detail == sentinel.Error() {
		detail = "" // the code says it
	}
	return failure{Message: message, Detail: detail, Code: c, Missing: missing}
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
	text, sentinel := f.Detail, f.Code.sentinel()
	if _, message := f.Code.status(); text == "" && (sentinel == nil || message != sentinel.Error()) {
		text = f.Message
	}
	switch {
	case sentinel == nil:
		return xerrors.New(text)
	case text == "":
		return sentinel
	}
	return xerrors.Errorf("%s: %w", text, sentinel)
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
