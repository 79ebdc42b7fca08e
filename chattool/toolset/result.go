package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"mvdan.cc/sh/v3/syntax"
)

// A report is the text about a process that a model reads, or the reason why
// there is no process.
type report struct {
	Success             bool                 `json:"success"`
	Output              *string              `json:"output,omitempty"`
	ExitCode            *int                 `json:"exit_code,omitempty"`
	Signal              string               `json:"signal,omitempty"`
	State               procmgr.State        `json:"state,omitempty"`
	WorkDir             string               `json:"workdir,omitempty"`
	WallDurationMS      *int64               `json:"wall_duration_ms,omitempty"`
	Error               string               `json:"error,omitempty"`
	Truncated           *headtail.Truncation `json:"truncated,omitempty"`
	Note                string               `json:"note,omitempty"`
	BackgroundProcessID string               `json:"background_process_id,omitempty"`
	NextOffset          *int64               `json:"next_offset,omitempty"`
	LogPath             string               `json:"log_path,omitempty"`
}

// describe reports the state of a process and its output.
func (s *Set) describe(out procmgr.Output) report { return s.describeFrom(out, 0) }

// describeFrom does the same as describe, for an output from an offset on.
func (s *Set) describeFrom(out procmgr.Output, from int64) report {
	p := out.Process
	text, truncated := s.shown(out, from)
	r := report{
		Success:        !failed(p),
		Output:         &text,
		ExitCode:       p.ExitCode,
		Signal:         p.Signal,
		State:          p.State,
		WallDurationMS: wallDuration(p),
		Error:          s.cause(p),
		Truncated:      truncated,
	}
	if alive(p) {
		r.BackgroundProcessID = p.ID
		r.NextOffset = &out.Next
	}
	if p.LogPath != "" && (alive(p) || truncated != nil) {
		r.LogPath = p.LogPath
	}
	switch t := truncated; {
	case r.LogPath != "" && p.LogError != "":
		r.add("The file log_path has only the beginning of the output: %s.", clip(p.LogError, maxWords))
	case t == nil:
	case r.LogPath != "":
		r.add("All of the output is in %s; search it (%s %s) instead of running the command again.", r.LogPath, search(t), quote(r.LogPath))
	case t.RetainedBytes == 0 && p.State == procmgr.Exited:
		r.add("The output is no longer kept.")
	}
	return r
}

// search returns the command that finds something in a log. If lines were too
// long for the result, it prints a match and its offset, and not the whole
// line. It does not print text before the match, because that costs grep
// minutes on such a line. Without -a, one byte that is not text keeps grep from
// printing anything.
func search(t *headtail.Truncation) string {
	if t.TruncatedLines > 0 {
		return `grep -n -a -b -o 'PATTERN.\{0,200\}'`
	}
	return "grep -n -a PATTERN"
}

// quote writes a path for a shell.
func quote(path string) string {
	quoted, err := syntax.Quote(path, syntax.LangPOSIX)
	if err != nil {
		return strconv.Quote(path) // the path has a control character: this is to be read, not run
	}
	return quoted
}

// add appends a sentence to the note.
func (r *report) add(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	if format == "" {
		return
	}
	if r.Note != "" {
		r.Note += " "
	}
	r.Note += format
}

// result makes a Result of the report. out may be nil.
func (r report) result(out *procmgr.Output) Result {
	return Result{Content: encode(r), Output: out}
}

// encode returns one JSON object on one line. It does not escape < and &,
// because models read them better so, and the text is not for a web page.
func encode(v any) string {
	var b strings.Builder // whose String is no copy
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// v has strings and numbers alone, so this cannot be reached.
		return `{"success":false,"error":"the result could not be encoded"}`
	}
	return strings.TrimSuffix(b.String(), "\n")
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

// cause says in words why a process failed, if the exit code does not say it.
func (s *Set) cause(p procmgr.Process) string {
	if !failed(p) {
		return ""
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
		return "ended on request, by " + s.names.signal + " or because its call was stopped"
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

// wallDuration returns how long a process ran, or has run so far, in
// milliseconds. It is never negative, although the manager's clock may be
// another machine's.
func wallDuration(p procmgr.Process) *int64 {
	if p.StartedAt.IsZero() {
		return nil
	}
	d := time.Since(p.StartedAt)
	if !p.ExitedAt.IsZero() {
		d = p.ExitedAt.Sub(p.StartedAt)
	}
	ms := max(d.Milliseconds(), 0)
	return &ms
}

// refuse returns the result of a call that the tool could not carry out.
func refuse(format string, args ...any) Result {
	return Result{IsError: true, Content: encode(report{Error: fmt.Sprintf(format, args...)})}
}

// canceled returns the result of a call whose context has ended. did says what
// became of the process. out is the last snapshot of the process, or nil. id is
// set if the process may live but nobody could read it.
func (s *Set) canceled(ctx context.Context, did string, out *procmgr.Output, id string) Result {
	r := report{BackgroundProcessID: id}
	if out != nil {
		r = s.describe(*out)
	}
	r.Success = false
	r.Error = endOf(ctx) + "; " + did
	return r.result(out)
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
func (s *Set) panicked(p any, started string) Result {
	r := report{Error: "the tool failed unexpectedly: " + clip(fmt.Sprint(p), maxWords), BackgroundProcessID: started}
	if started != "" {
		r.add("The command may have started as process %s: check with %s before running it again.", started, s.names.output)
	}
	return Result{IsError: true, Content: encode(r)}
}

// maxWords is how much of an error a result quotes, in bytes of the result.
const maxWords = 2000

// words returns an error's text for a model. It leaves out the package, the
// call, the process ID and the sentinel. Those are for programs, and the result
// says them in other words.
func words(err error) string {
	reason := procmgr.Reason(err)
	if words, ok := bare[reason]; ok {
		reason = words
	}
	return clip(reason, maxWords)
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
	context.Canceled.Error():         "the process manager gave up on it",
	context.DeadlineExceeded.Error(): "the process manager took too long",
}

// clip shortens s so that it takes at most n bytes in a result. It cuts between
// runes, and marks the cut with an ellipsis.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n/maxCost || encodedLen(s) <= n {
		return s
	}
	short, _ := prefix(s, n-len("…"))
	return s[:short] + "…"
}
