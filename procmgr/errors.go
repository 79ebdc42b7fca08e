package procmgr

import (
	"errors"
	"fmt"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// The errors of a [Manager], to be matched with [errors.Is]. What wraps them
// says in words what to do next; [Reason] returns those words.
var (
	// ErrNotFound: this chat has no process with that ID.
	ErrNotFound = errors.New("no such process")
	// ErrNotRunning: the process has ended, so there is nothing to signal.
	ErrNotRunning = errors.New("process is not running")
	// ErrClosed: the manager has been closed and starts nothing any more.
	ErrClosed = errors.New("process manager is closed")
	// ErrInvalid: the request can never work as it is.
	ErrInvalid = sentinel.ErrInvalid
	// ErrConflict: the ID belongs to another command, was spent by a stop, or,
	// where a [Host] was asked, is in use in several chats.
	ErrConflict = errors.New("process ID is taken")
	// ErrLimit: a limit of the manager or of the system is reached.
	ErrLimit = sentinel.ErrLimit
	// ErrRefused: whoever decides about the call does not allow it. Nothing was
	// started, sent or read, the words say why, and to ask again does not help.
	// A [Local] never answers with it: it is for a Manager that has rules of
	// its own, about commands or about who may run them.
	ErrRefused = errors.New("refused")
	// ErrUnknown: the command may or may not have run, and nobody can tell any
	// more. Look at what it would have changed before running it again.
	ErrUnknown = errors.New("unknown whether the command ran")
)

var sentinels = []error{ErrNotFound, ErrNotRunning, ErrClosed, ErrInvalid, ErrConflict, ErrLimit, ErrRefused, ErrUnknown}

// wrap says which call on which process failed.
func wrap(verb, id string, err error) error {
	if err == nil {
		return nil
	}
	call := "procmgr: " + verb
	if id != "" {
		call += fmt.Sprintf(" %.80q", id)
	}
	return &callError{call: call, err: err}
}
