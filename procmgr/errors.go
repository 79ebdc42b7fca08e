package procmgr

import (
	"errors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// The errors of a [Manager]. Match them with [errors.Is]. The error that wraps
// one of them has words about the next step; [Reason] returns those words.
var (
	// ErrNotFound: this chat has no process with that ID.
	ErrNotFound = errors.New("no such process")
	// ErrNotRunning: the process has ended, so there is nothing to signal; or
	// nobody can read its stdin any more.
	ErrNotRunning = sentinel.ErrNotRunning
	// ErrClosed: the manager has been closed and starts nothing any more.
	ErrClosed = errors.New("process manager is closed")
	// ErrInvalid: the request can never work as it is.
	ErrInvalid = sentinel.ErrInvalid
	// ErrConflict: the ID belongs to another command, or a stop has spent it,
	// or a [Host] was asked for an ID that several chats use.
	ErrConflict = errors.New("process ID is taken")
	// ErrLimit: a limit of the manager or of the system is reached.
	ErrLimit = sentinel.ErrLimit
	// ErrRefused: the manager does not allow the call. Nothing was started,
	// sent or read, the words say why, and it does not help to ask again. A
	// proclocal.Local never returns it: it is for a Manager with rules of its own,
	// about commands or about the users who may run them. Wrap it last, with the
	// reason before it, as in xerrors.Errorf("no rm here: %w", procmgr.ErrRefused):
	// then [Reason] returns the words before it, which are what a model reads.
	ErrRefused = errors.New("refused")
	// ErrNotReady: the program does not take this input now, and it was not
	// written: for example, no program asks for a secret.
	ErrNotReady = errors.New("program is not ready for the input")
	// ErrUnknown: the command may or may not have run, and nobody can tell any
	// more. Look for the command's changes before you run it again.
	ErrUnknown = errors.New("unknown whether the command ran")
)

var sentinels = []error{
	ErrNotFound, ErrNotRunning, ErrClosed, ErrInvalid, ErrConflict, ErrLimit, ErrRefused, ErrNotReady, ErrUnknown,
	errors.ErrUnsupported, // a Manager need not be able to do everything
}
