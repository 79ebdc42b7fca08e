package toolset

import (
	"encoding/json"

	"github.com/toolproc/toolproc/procmgr"
)

// A Call is one tool call of a model.
type Call struct {
	// ID is the provider's ID of the call. It is for Options.ProcessID. The
	// tools do not look at it, so two calls with the same ID run twice.
	ID string
	// Name is the name of the tool.
	Name string
	// Arguments is the JSON object that the model sent, at most 4 MiB.
	Arguments json.RawMessage
}

// A Result is the outcome of a call.
type Result struct {
	// Content is the text for the model, in Options.Format.
	Content string
	// Report has the facts of Content, for a program.
	Report Report
	// IsError reports that the tool could not do its work. It is not set
	// for a command that failed.
	IsError bool
	// Output is the process and the output that was read, for a user
	// interface. It is nil if no process is known. After process_signal its
	// Text is empty.
	Output *procmgr.Output
}
