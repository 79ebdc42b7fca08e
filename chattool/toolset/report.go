package toolset

import (
	"fmt"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// A Report has the facts of a result, for a program. Content says them to a
// model, in the Format of the Set.
type Report struct {
	// Success is false if the command has failed, if a foreground command has
	// not ended within its timeout, or if the tool could not do its work.
	Success bool
	// Error says in words what went wrong. It is "" if nothing did, or if the
	// exit code says it.
	Error string
	// Denied is true if Options.Approve denied the call, so that nothing was
	// done.
	Denied bool
	// Process is the process, and nil if none is known.
	Process *procmgr.Process
	// State is that of the process, and "" if no process is known.
	State    procmgr.State
	ExitCode *int   // nil while it is not known
	Signal   string // such as "SIGKILL", if a signal ended the shell
	// Duration is how long the process ran, or has run so far. It is 0 if that
	// is not known.
	Duration time.Duration
	// WorkDir is the directory of the process, if the chat was not told so
	// last, and "" otherwise.
	WorkDir string
	// Waiting says that a program of the process waits for input, which the manager
	// can know. It is nil if none does, or if that is not known.
	Waiting *procmgr.Waiting
	// ProcessID is the ID of the process while it lives or may live, and ""
	// otherwise. Result.Output has it in any case.
	ProcessID string
	// NextOffset is the since that reads on from here. For process_list it is
	// the offset that lists further processes. It is nil if there is no more to
	// read.
	NextOffset *int64
	// LogPath is the file with all of the output, if the process lives or the
	// output is truncated, and "" otherwise.
	LogPath string
	// Output is the output as the model reads it. It is nil if the call reads
	// none.
	Output *string
	// Truncated says what Output leaves out. It is nil if that is nothing.
	Truncated *headtail.Truncation
	// Shows has the parts of the stream that Output shows, in order and apart from
	// its Highlights. A run of lines that Output has folded is shown. It is empty if
	// Output is a screen, and if the manager does not tell what its text leaves out.
	Shows []Span
	// Highlights are those that Output has between its beginning and its end.
	Highlights []procmgr.Highlight
	// Folded is how many runs of identical lines Output has folded, and Shown
	// how many Highlights there are. A program can print lines that look like
	// those of a fold or of a highlight. There are no more real ones than these
	// numbers say, and no more markers of what is omitted than Truncated says.
	Folded, Shown int
	// Screen is set if Output is what the terminal of the process shows, and
	// nil otherwise.
	Screen *procmgr.Screen
	// Notes say what to know and what to do next, one after the other.
	Notes []string
	// Meanwhile has what has become of processes that earlier calls left
	// running, a line for each. See Options.Notices.
	Meanwhile []string
	// Processes are those that process_list lists, in its order. It is nil for
	// the other tools. Omitted is how many more follow.
	Processes []procmgr.Process
	Omitted   int
	// Earlier is the process with whose output that of this one was compared, if
	// Output has what differs in the place of the whole: the hunks of Changes, and
	// the last lines. If Changes.Same is set, Output is nil. Both are nil for any
	// other result. Result.Output has the output itself in any case.
	Earlier *procmgr.Process
	Changes *procmgr.Changes
	// Quiet is for how long a process that lives has shown nothing new, if the
	// result says that in the place of Output. It is 0 for any other result.
	Quiet time.Duration
}

// A Span is a part of the stream of a process.
type Span struct {
	From, To int64 // offsets in bytes
}

// A report is a result that a tool is making: the facts, and the output that still has
// to be laid out.
type report struct {
	Report
	isError bool
	// Out is the process and what was read of it, or nil if no process is
	// known. If Reads is set, its text belongs in the result; it begins at the
	// offset From.
	Out    *procmgr.Output
	Reads  bool
	From   int64
	Budget budget
	// Unknown says that output was lost, and that nobody knows how much.
	Unknown bool
	// Read reads the output again. It is nil if no manager can be asked.
	Read func(procmgr.OutputRequest) (procmgr.Output, error)
	// Again is how the output differs from one that the model has. If it is not
	// nil, the result may have that in the place of the output.
	Again *again
	// unprintable has the notes on bytes that the result shows as something else.
	unprintable []string
	// compare lets the result have what differs from an earlier one alone, and read
	// says that the memory knows of the read. whole says that the model has asked
	// for a number of tokens.
	compare, read, whole bool
}

// Add appends a note.
func (r *report) Add(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	if format != "" {
		r.Notes = append(r.Notes, format)
	}
}
