package toolset

import (
	"github.com/toolproc/toolproc/chattool/shellfacts"
	"github.com/toolproc/toolproc/procmgr"
)

// A Question is what Options.Approve is asked before a call changes something.
// Call.Name says which tool it is, by the host's name for it. All of it is the
// callee's to keep.
type Question struct {
	// Call is the call as the model made it. Of a secret input, Arguments are
	// without the text.
	Call Call
	// Command is the command as it will run: if execute takes a trailing & off,
	// without the &. For process_input it is the text that will be typed, or ""
	// if the text is secret. For process_signal it is "".
	Command string
	// Facts tell what is known of Command. Those of an input and of a signal are
	// not Complete.
	Facts shellfacts.Facts
	// WorkDir is the directory that the call names, or "" for the default.
	WorkDir string
	// ProcessID is the process that gets the input or the signal. It is "" for
	// execute.
	ProcessID string
	// Keys are those that process_input will press after the text.
	Keys []procmgr.Key
	// Secret says that process_input types a secret.
	Secret bool
	// Description is that of the manager, as far as it is known.
	Description procmgr.Description
}

// A Verdict is an answer to a Question. The zero value allows.
type Verdict struct {
	Deny bool
	// Reason says to the model why it was denied. It may be "".
	Reason string
}
