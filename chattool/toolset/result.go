package toolset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

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

// cause says in words why a process failed, if the exit code does not say it.
func (k *kit) cause(p procmgr.Process) string {
	if !failed(p) {
		return ""
	}
	if p.OOM && !wording.Killed(p.Signal, p.ExitCode) {
		return "a part of it was killed by the kernel's out-of-memory killer: use less memory"
	}
	if p.OOM {
		return "most likely killed by the kernel's out-of-memory killer, which was at work: use less memory"
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
		return "ended on request, by " + k.names.signal + " or because its call was stopped"
	case procmgr.CauseShutdown:
		return "ended because the process manager was closed"
	case procmgr.CauseLost:
		return "ended, but its exit code is not known"
	}
	if p.ExitCode == nil {
		return "ended without an exit code"
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
	r.Success, r.Error = !failed(p), k.cause(p)
	r.Process = &out.Process
	r.State, r.ExitCode, r.Signal, r.Duration = p.State, p.ExitCode, p.Signal, p.Elapsed
	if alive(p) {
		r.ProcessID = p.ID
		r.NextOffset = &out.Next
		r.LogPath = p.LogPath
	}
	if p.OOM && r.Success {
		r.Add("The kernel's out-of-memory killer ended a part of the command, so its result is not whole: use less memory.")
	}
	if t := out.Truncated; t != nil && t.Unknown {
		r.Unknown = true
		r.Add("Output was lost, and nobody knows how much: what is not here may have been printed all the same.")
		if t.OmittedBytes == 0 {
			out.Truncated = nil // the text is whole, as far as it is known
		}
	}
	return r
}

// refuse returns the result of a call that the tool could not carry out.
func refuse(format string, args ...any) report {
	r := report{isError: true}
	r.Error = fmt.Sprintf(format, args...)
	return r
}

// unsure returns the result of a call after which a process may live that
// nobody could read. id is its ID.
func unsure(id, format string, args ...any) report {
	var r report
	r.ProcessID, r.Error = id, fmt.Sprintf(format, args...)
	return r
}

// canceled returns the result of a call whose context has ended. did says what
// became of the process. out is the last snapshot of the process, or nil. id is
// set if the process may live but nobody could read it.
func (k *kit) canceled(ctx context.Context, did string, out *procmgr.Output, id string) report {
	var r report
	r.ProcessID = id
	if out != nil {
		r = k.describe(*out)
	}
	r.Success = false
	r.Error = endOf(ctx) + "; " + did
	return r
}

// endOf says in words how a context has ended.
func endOf(ctx context.Context) string {
	if stopped(ctx) {
		return "the call was canceled"
	}
	return "the call ran out of time"
}

// panicked returns the result of a call that panicked. started is the ID of the
// process that the call may have started, or "".
func (k *kit) panicked(p any, started string) report {
	r := unsure(started, "the tool failed unexpectedly: %s", wording.Clip(fmt.Sprint(p), wording.MaxWords))
	r.isError = true
	if started != "" {
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
