// Package callerr names the call that failed, for every implementation of a
// Manager in the same form. procmgr.Reason takes that form apart.
package callerr

import (
	"fmt"

	"github.com/toolproc/toolproc/procmgr"
)

// Wrap names the call that failed, and its process.
func Wrap(verb, id string, err error) error { return In("procmgr", verb, id, err) }

// In is Wrap for another package.
func In(name, verb, id string, err error) error {
	if err == nil {
		return nil
	}
	call := name + ": " + verb
	if id != "" {
		call += fmt.Sprintf(" %.80q", id)
	}
	return &callError{call: call, err: err}
}

// A callError names the call that failed, and its process.
type callError struct {
	call string // such as `procmgr: start "x"`
	err  error
}

func (e *callError) Error() string  { return e.call + ": " + e.err.Error() }
func (e *callError) Unwrap() error  { return e.err }
func (e *callError) Reason() string { return procmgr.Reason(e.err) }
