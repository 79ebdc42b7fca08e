// Package callerr names the call that failed in an error. procmgr.Reason leaves that out.
package callerr

import (
	"fmt"

	"github.com/toolproc/toolproc/procmgr"
)

// In names the package, the call and the file, if there is one.
func In(name, verb, path string, err error) error {
	if err == nil {
		return nil
	}
	call := name + ": " + verb
	if path != "" {
		call += fmt.Sprintf(" %.80q", path)
	}
	return &callError{call, err}
}

type callError struct {
	call string // such as `procfile: read "x"`
	err  error
}

func (e *callError) Error() string  { return e.call + ": " + e.err.Error() }
func (e *callError) Unwrap() error  { return e.err }
func (e *callError) Reason() string { return procmgr.Reason(e.err) }
