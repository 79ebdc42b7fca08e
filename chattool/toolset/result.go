package toolset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// A Report has the facts of a result, for a program. Content says them to a
// model, in the Format of the Set. Of the command of execute, it tells
//
//   - that it ran: ExitCode is set; Result.Output.Attached says that an earlier call
//     had started it
//   - that it still runs, all of it or a part: State is running or detached
//   - that it may have run: Unknown
//   - that it never ran: Result.IsError, without Unknown and without a ProcessID
//   - that its end is lost: Process.EndedBy is lost, and ExitCode is nil
type Report struct {
	// Success is false if the command has failed, if a foreground command has
	// not ended within its timeout, or if the tool could not do its work.
	Success bool
	// Error says in words what went wrong. It is "" if nothing did, or if the
	// exit code says it.
	Error string
	// Description is the argument description of the call, with which a model says what
	// it is for. A model does not read it here.
	Description string
	// Unknown is true if it is unknown whether the call has done its work: whether the
	// command has run, the text was written or the signal was sent.
	Unknown bool
	// Denied is true if Options.Approve denied the call, so that nothing was
	// done.
	Denied bool
	// Process is the process, and nil if none is known.
	Process *procmgr.Process
	// State is the state of the process, and "" if no process is known.
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
	// Highlights are the highlights between the beginning and the end of Output.
	Highlights []procmgr.Highlight
	// Folded is how many runs of identical lines Output has folded, and Shown
	// how many Highlights there are. A program can print lines that look like a
	// fold or a highlight. There are no more real ones than these numbers say,
	// and no more markers of omitted output than Truncated says.
	Folded, Shown int
	// Screen is set if Output is what the terminal of the process shows, and
	// nil otherwise.
	Screen *procmgr.Screen
	// Notes say what to know and what to do next, one after the other.
	Notes []string
	// Meanwhile has what has become of processes that earlier calls left
	// running, a line for each. See Options.NoticesInInbox.
	Meanwhile []string
	// Processes are the processes that process_list lists, in its order. It is
	// nil for the other tools. Omitted is how many more follow.
	Processes []procmgr.Process
	Omitted   int
	// Earlier is the process whose output this output was compared with, if
	// Output has only the differences: the hunks of Changes, and the last lines.
	// If Changes.Same is set, Output is nil. Earlier and Changes are nil for any
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

// lost reports whether an unknown amount of the output was lost.
func (r *report) lost() bool { return r.Out.Truncated != nil && r.Out.Truncated.Unknown }

// fail notes what went wrong.
func (r *report) fail(format string, args ...any) {
	r.Success, r.Error = false, fmt.Sprintf(format, args...)
}

// alive reports whether any part of a process lives, or may live. An empty
// state means that the manager could not tell.
func alive(p procmgr.Process) bool {
	return p.ID != "" && p.State != procmgr.Exited
}

// failed reports whether a process is known to have failed.
func failed(p procmgr.Process) bool {
	if p.ExitCode != nil {
		return *p.ExitCode != 0
	}
	return p.State == procmgr.Exited
}

// cause says in words why a process ended as it did, if the exit code does not say it.
func cause(p procmgr.Process) string {
	switch {
	case p.EndedBy == procmgr.CauseLifetime: // whatever exit code it chose
		return "ended by the host's limit on how long a process may run; another run gets the same limit"
	case p.OOM && !wording.Killed(p.Signal, p.ExitCode):
		return "a part of the command was killed by the kernel's out-of-memory killer, so its result is not whole: use less memory"
	case p.OOM:
		return "most likely killed by the kernel's out-of-memory killer, which was at work: use less memory"
	case !failed(p):
		return ""
	}
	signal := p.Signal
	if signal == "" {
		signal = "a signal"
	}
	switch p.EndedBy {
	case procmgr.CauseSignal:
		if signal == "SIGKILL" && !strings.Contains(p.Command, "kill") { // else its own command may have sent the signal
			return "ended by SIGKILL, which no tool sent"
		}
		return "ended by " + signal
	case procmgr.CauseRequest:
		return "ended on request, by a tool or because its call was stopped"
	case procmgr.CauseShutdown:
		return "ended because the process manager was closed"
	case procmgr.CauseLost:
		return "its exit code is not known: most likely its manager was killed, and it was ended with it"
	}
	if p.ExitCode == nil {
		return "its exit code is not known"
	}
	return ""
}

// describe reports the state of a process and its output.
func (k *kit) describe(out procmgr.Output) report { return k.describeFrom(out, 0) }

// describeFrom does the same as describe, for an output from an offset on.
func (k *kit) describeFrom(out procmgr.Output, from int64) report {
	p := out.Process
	var r report
	r.Reads, r.From, r.Out = true, from, &out
	if r.Success = !failed(p) && p.EndedBy != procmgr.CauseLifetime; r.Success {
		r.Add(cause(p))
	} else {
		r.Error = cause(p)
	}
	r.Process = &out.Process
	r.State, r.ExitCode, r.Signal, r.Duration = p.State, p.ExitCode, p.Signal, p.Elapsed
	if alive(p) {
		r.ProcessID = p.ID
		r.NextOffset = &out.Next
		r.LogPath = p.LogPath
	}
	if r.lost() {
		r.Add("Some output was lost, and it is unknown how much: text that is missing here may still have been printed.")
	}
	return r
}

// refuse returns the result of a call that the tool could not carry out.
func refuse(format string, args ...any) report {
	r := report{isError: true}
	r.Error = fmt.Sprintf(format, args...)
	return r
}

// unsure returns the result of a call that the tool could not carry out, and after which a
// process may live that could not be read. id is its ID.
func unsure(id, format string, args ...any) report {
	r := refuse(format, args...)
	r.ProcessID = id
	return r
}

// canceled returns the result of a call whose context has ended. did says what became
// of the process. out is the last snapshot of the process, nil or without an ID if there is
// none. id is set if the process may live but could not be read.
func (k *kit) canceled(ctx context.Context, did string, out *procmgr.Output, id string) report {
	var r report
	r.ProcessID = id
	if out != nil && out.Process.ID != "" {
		r = k.describe(*out)
	}
	r.fail("%s; %s", endOf(ctx), did)
	return r
}

// undecided returns the result of a call whose context has ended, if it is unknown whether
// it has done its work. did and id are as for canceled.
func (k *kit) undecided(ctx context.Context, did, id string) report {
	r := k.canceled(ctx, did, nil, id)
	r.Unknown = true
	return r
}

// endOf says in words how a context has ended.
func endOf(ctx context.Context) string {
	if byUser(ctx) {
		return errStopped.Error()
	}
	if stopped(ctx) {
		return "the call was canceled"
	}
	return "the call ran out of time"
}

// panicked returns the result of a call that panicked. started is the ID of the
// process that the call may have started, or "".
func (k *kit) panicked(p any, started string) report {
	r := unsure(started, "the tool failed unexpectedly: %s", wording.Clip(fmt.Sprint(p), wording.MaxWords))
	if started != "" {
		r.Unknown = true
		r.Add("The command may have started as process %s: check with %s before running it again.", started, k.names.output)
	}
	return r
}

// words returns an error's text for a model. It leaves out the package, the
// call, the process ID and the sentinel. Those are for programs, and the result
// says them in other words.
func words(err error) string {
	reason := procmgr.Reason(err)
	if words, ok := bare[reason]; ok {
		reason = words
	}
	return wording.Clip(reason, wording.MaxWords)
}

// bare has the words for errors that give no reason.
var bare = map[string]string{
	procmgr.ErrNotFound.Error():      "there is no such process",
	procmgr.ErrNotRunning.Error():    "the process has ended",
	procmgr.ErrClosed.Error():        "the process manager is closed",
	procmgr.ErrInvalid.Error():       "the request can never work",
	procmgr.ErrConflict.Error():      "the process id is taken",
	procmgr.ErrLimit.Error():         "a limit is reached",
	procmgr.ErrUnknown.Error():       "the process manager cannot tell",
	errors.ErrUnsupported.Error():    "the process manager cannot do this",
	context.Canceled.Error():         "the process manager gave up on it",
	context.DeadlineExceeded.Error(): "the process manager took too long",
}

// mayHaveBegun reports whether the command may have begun although Start
// failed. By the rule of [procmgr.Manager] it may if the error is ErrUnknown or
// comes with the ID of the process. Any other error says that nothing was
// started.
func mayHaveBegun(out procmgr.Output, err error) bool {
	return out.Process.ID != "" || errors.Is(err, procmgr.ErrUnknown)
}

// refusal returns a result that says why nothing was started, and what to do.
func (r *run) refusal(err error) report {
	why := words(err)
	switch {
	case errors.Is(err, procmgr.ErrConflict):
		return refuse("nothing was started by this call: its process id %s belongs to another command, or to one that was stopped before it began (%s). Look at %s; call %s again if the command is still wanted",
			r.req.ID, why, r.kit.names.list, r.kit.names.execute)
	case errors.Is(err, procmgr.ErrLimit):
		return refuse("nothing was started: %s %s lists the processes of this chat, and %s ends one", wording.Sentence(why), r.kit.names.list, r.kit.names.signal)
	case errors.Is(err, procmgr.ErrClosed):
		return refuse("nothing was started: %s. No command can be run any more; tell the user", why)
	case never(err):
		return denied("started", err)
	case errors.Is(err, procmgr.ErrInvalid):
		return refuse("nothing was started: %s", why)
	}
	return refuse("nothing was started: %s Nothing was run, so it is safe to make the call once more; tell the user if it fails again", wording.Sentence(why))
}

// never reports whether an error says that a second try fails as well: the call is
// not allowed, or the host does not offer it.
func never(err error) bool {
	return errors.Is(err, procmgr.ErrRefused) || errors.Is(err, errors.ErrUnsupported)
}

// denied returns the result of a call whose error is never. did is the verb for the
// work that was not done.
func denied(did string, err error) report {
	if errors.Is(err, errors.ErrUnsupported) {
		return refuse("nothing was %s: %s This host does not offer it, and a second try will not change that: do it in another way, or tell the user if the task needs it",
			did, wording.Sentence(words(err)))
	}
	return refuse("nothing was %s: %s This was not allowed, and a second try will not be either: do not retry it, nor look for a way around it; tell the user if the task needs it",
		did, wording.Sentence(words(err)))
}

// advise adds the notes on a command to its report. In a, the caller says which
// command it is, what it printed and how it was called.
func (k *kit) advise(ctx context.Context, rep *report, m procmgr.Manager, a advice.Result) {
	a.Tools = advice.Tools{Execute: k.names.execute, Signal: k.names.signal, Input: k.names.input, ReadFile: k.opts.Files.Read, ReadCall: k.opts.Files.ReadCall}
	for _, note := range advice.Notes(a) {
		rep.Add(note)
	}
	if k.opts.Advise != nil {
		host := rep.Report
		host.Output = &a.Output.Text
		guard(func() {
			for _, note := range k.opts.Advise(host) {
				rep.Add("%s", note)
			}
		})
	}
	rep.Add(advice.Masked(a.Output))
	aside(ctx, func(ctx context.Context) {
		if held := portHolder(ctx, m, a.Output.Process, a.Output.Text); held != "" {
			rep.Add("%s.", strings.ToUpper(held[:1])+held[1:])
		}
	})
}
