package procmgr

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// The errors of a [Manager]. Match them with [errors.Is]. The error that wraps
// one of them has words about the next step; [Reason] returns those words.
var (
	// ErrNotFound: this chat has no process with that ID.
	ErrNotFound = errors.New("no such process")
	// ErrNotRunning: the process has ended, so there is nothing to signal, or its stdin
	// no longer has a reader.
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
	// ErrUnknown: it is unknown whether the command ran, and it will stay unknown. Look
	// for the command's changes before you run it again.
	ErrUnknown = errors.New("unknown whether the command ran")
)

var sentinels = []error{
	ErrNotFound, ErrNotRunning, ErrClosed, ErrInvalid, ErrConflict, ErrLimit, ErrRefused, ErrNotReady, ErrUnknown,
	errors.ErrUnsupported, // a Manager need not be able to do everything
}

// A PartialError is the error of a call that asks many machines if some of them
// did not answer. List and Events return the answers of the others with it. A call
// with the ID of a process returns it if no machine that answered knows the ID.
type PartialError struct {
	// Missing has the machines that did not answer, and why.
	Missing map[string]error
}

// Error names each machine.
func (e *PartialError) Error() string {
	texts := make([]string, 0, len(e.Missing))
	for _, name := range slices.Sorted(maps.Keys(e.Missing)) {
		texts = append(texts, name+" ("+Reason(e.Missing[name])+")")
	}
	return fmt.Sprintf("%d machines have not answered: %s", len(texts), strings.Join(texts, ", "))
}

// Reason returns the part of a [Manager]'s error that is for a person or a model:
// the cause and the remedy. It leaves out the words that are for
// programs: the package, the call and the process ID in front, and the sentinel
// at the end. Words that a caller has put around the error stay. Reason of nil is
// "".
//
//	procmgr: start "x": no such directory: /y; name one that exists and can be entered: invalid request
//	no such directory: /y; name one that exists and can be entered
//
// The error of another Manager has a method Reason() string, or has the form of
// the first line. An error that is nothing but a sentinel keeps its text.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	var call interface {
		error
		Reason() string
	}
	if errors.As(err, &call) {
		if before, after, ok := strings.Cut(text, call.Error()); ok {
			return before + call.Reason() + after
		}
	}
	text = strings.TrimPrefix(text, callForm.FindString(text))
	for _, sentinel := range sentinels {
		if reason, ok := strings.CutSuffix(text, ": "+sentinel.Error()); ok && errors.Is(err, sentinel) {
			return reason
		}
	}
	return text
}

// callForm matches the words in front of the reason.
var callForm = regexp.MustCompile(`^[a-z]\w*: (start|output|input|list|signal|events|describe)( "([^"\\]|\\.)*")?: `)
