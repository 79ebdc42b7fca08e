package toolset

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// render returns the text of a report for a model.
func (f Format) render(r Report) string {
	if f == FormatText {
		return r.text()
	}
	return wording.Encode(r.object())
}

// MarshalJSON encodes a Report as FormatJSON shows it to a model.
func (r Report) MarshalJSON() ([]byte, error) { return json.Marshal(r.object()) }

// cost returns how many bytes a text takes in a result. In JSON a NUL takes fewer than
// this counts.
func (f Format) cost(text string) int {
	if f == FormatText {
		return len(text) + (len(nulShown)-len(nul))*strings.Count(text, nul)
	}
	return wording.Len(text)
}

// A resultObject is a report in JSON. A field that says nothing is left out.
type resultObject struct {
	Again      string            `json:"again,omitempty"`
	Success    bool              `json:"success"`
	Output     *string           `json:"output,omitempty"`
	ExitCode   *int              `json:"exit_code,omitempty"`
	Signal     string            `json:"signal,omitempty"`
	State      procmgr.State     `json:"state,omitempty"`
	Waiting    bool              `json:"waiting_for_input,omitempty"`
	WorkDir    string            `json:"workdir,omitempty"`
	Duration   string            `json:"duration,omitempty"`
	Error      string            `json:"error,omitempty"`
	Denied     bool              `json:"denied,omitempty"`
	Truncated  *truncationFields `json:"truncated,omitempty"`
	Folded     int               `json:"folded,omitempty"`
	Shown      int               `json:"shown,omitempty"`
	Note       string            `json:"note,omitempty"`
	ProcessID  string            `json:"process_id,omitempty"`
	NextOffset *int64            `json:"next_offset,omitempty"`
	LogPath    string            `json:"log_path,omitempty"`
	Meanwhile  []string          `json:"meanwhile,omitempty"`
}

// truncationFields has the numbers of a headtail.Truncation that a model can use.
type truncationFields struct {
	OriginalBytes int64 `json:"original_bytes"`
	RetainedBytes int64 `json:"retained_bytes"`
	OmittedBytes  int64 `json:"omitted_bytes"`
	Lines         int   `json:"truncated_lines,omitempty"`
	Unknown       bool  `json:"unknown,omitempty"`
}

// A processList is a report of process_list in JSON.
type processList struct {
	Processes  []listedProcess `json:"processes"`             // never null
	Omitted    int             `json:"omitted,omitempty"`     // how many more follow these
	NextOffset *int64          `json:"next_offset,omitempty"` // the offset that lists them
	Note       string          `json:"note,omitempty"`
	Meanwhile  []string        `json:"meanwhile,omitempty"`
}

type listedProcess struct {
	ID       string        `json:"process_id"`
	State    procmgr.State `json:"state"`
	Waiting  bool          `json:"waiting_for_input,omitempty"`
	Command  string        `json:"command"`
	Age      string        `json:"age,omitempty"` // since the start
	ExitCode *int          `json:"exit_code,omitempty"`
}

// object returns what JSON has of a report.
func (r Report) object() any {
	note := wording.Sentences(r.Notes)
	if r.Processes != nil {
		l := processList{Processes: make([]listedProcess, 0, len(r.Processes)), Omitted: r.Omitted, NextOffset: r.NextOffset, Note: note, Meanwhile: r.Meanwhile}
		for _, p := range r.Processes {
			l.Processes = append(l.Processes, listedProcess{ID: p.ID, State: p.State, Waiting: p.Waiting != nil, Command: p.Command, Age: age(p), ExitCode: p.ExitCode})
		}
		return l
	}
	o := resultObject{
		Success:    r.Success,
		Output:     r.Output,
		ExitCode:   r.ExitCode,
		Signal:     r.Signal,
		State:      r.State,
		Waiting:    r.Waiting != nil,
		WorkDir:    r.WorkDir,
		Error:      r.Error,
		Denied:     r.Denied,
		Folded:     r.Folded,
		Shown:      r.Shown,
		Note:       note,
		ProcessID:  r.ProcessID,
		NextOffset: r.NextOffset,
		LogPath:    r.LogPath,
		Meanwhile:  r.Meanwhile,
	}
	if r.Duration > 0 {
		o.Duration = wording.Brief(r.Duration)
	}
	if r.Earlier != nil {
		o.Again = strings.Join(r.ranAgain(), " · ")
		o.Duration = "" // it is in the line
	}
	if r.Quiet > 0 {
		o.Note = wording.Sentences(append([]string{r.silence()}, r.Notes...))
		o.Duration = ""
	}
	if t := r.Truncated; t != nil {
		o.Truncated = &truncationFields{t.OriginalBytes, t.RetainedBytes, t.OmittedBytes, t.TruncatedLines, t.Unknown}
	}
	return o
}

// headerEnd stands between the header of a text and the output.
const headerEnd = "\n---\n"

// text writes a report as formatText.
func (r Report) text() string {
	var b strings.Builder
	b.WriteString(strings.Join(r.facts(), " · "))
	line := func(what, text string) {
		if text != "" {
			b.WriteString("\n" + what + ": " + wording.OneLine(text))
		}
	}
	line("error", r.Error)
	line("workdir", r.WorkDir)
	logged := r.LogPath == ""
	for _, note := range r.Notes {
		if r.Quiet > 0 {
			b.WriteString(" · " + wording.OneLine(note)) // all of it is one line
			continue
		}
		line("note", note)
		logged = logged || strings.Contains(note, r.LogPath)
	}
	if !logged {
		line("log", r.LogPath)
	}
	for _, notice := range r.Meanwhile {
		line("meanwhile", notice)
	}
	switch {
	case r.Processes != nil:
		b.WriteString(headerEnd)
		for _, p := range r.Processes {
			b.WriteString(row(p))
		}
	case r.Output != nil:
		b.WriteString(headerEnd)
		b.WriteString(*r.Output)
	}
	return b.String()
}

// facts returns the facts in the first line of a text.
func (r Report) facts() []string {
	var facts []string
	add := func(is bool, format string, args ...any) {
		if is {
			facts = append(facts, fmt.Sprintf(format, args...))
		}
	}
	if r.Processes != nil {
		add(true, "%s", wording.Counted(len(r.Processes), "process", "processes"))
		add(r.Omitted > 0 && r.NextOffset != nil, "%d more from offset %d on", r.Omitted, deref(r.NextOffset))
		return facts
	}
	if r.Earlier != nil {
		return r.ranAgain()
	}
	ended := r.State == "" || r.State == procmgr.Exited || r.Quiet > 0
	add(r.Quiet > 0, "%s", r.silence())
	add(!ended, "%s", wording.OneLine(string(r.State)))
	add(r.Waiting != nil, "waiting_for_input true")
	add(r.ExitCode != nil, "exit code %d", deref(r.ExitCode))
	add(r.Signal != "", "%s", wording.OneLine(r.Signal))
	add(r.State == procmgr.Exited && r.ExitCode == nil && r.Signal == "", "exited")
	add(r.State == "" && r.ExitCode == nil && r.Success, "done")
	add(r.State == "" && r.ExitCode == nil && !r.Success && !r.Denied, "failed")
	add(r.Denied, "denied")
	add(r.Duration > 0 && r.Quiet == 0, "%s", wording.Brief(r.Duration))
	add(r.ProcessID != "", "process %s", wording.OneLine(r.ProcessID))
	add(r.NextOffset != nil, "next_offset %d", deref(r.NextOffset))
	add(r.Folded > 0, "folded %s", wording.Counted(r.Folded, "run", "runs"))
	add(r.Shown > 0, "shown %s", wording.Counted(r.Shown, "highlight", "highlights"))
	if t := r.Truncated; t != nil && t.OmittedBytes > 0 {
		add(t.TruncatedLines > 0, "cut %s", wording.Counted(t.TruncatedLines, "line", "lines"))
		add(true, "%s bytes printed, %s shown", wording.Grouped(t.OriginalBytes), wording.Grouped(t.RetainedBytes))
	}
	return facts
}

// row writes a process as one line of a table. The command is its last column. It
// is quoted if it could be taken for more columns, or for a quoted one.
func row(p procmgr.Process) string {
	command := wording.OneLine(p.Command)
	if strings.Contains(command, "  ") || strings.HasPrefix(command, `"`) {
		command = strconv.Quote(p.Command)
	}
	state := string(p.State)
	if p.ExitCode != nil {
		state += " " + strconv.Itoa(*p.ExitCode)
	}
	if p.Waiting != nil {
		state += " waiting_for_input"
	}
	return fmt.Sprintf("%s  %s  %s  %s\n", wording.OneLine(p.ID), wording.OneLine(state), age(p), command)
}

// age says for how many whole seconds, minutes or hours a process has run, or "" if that is
// not known.
func age(p procmgr.Process) string {
	unit := time.Hour
	switch {
	case p.StartedAt.IsZero():
		return ""
	case p.Elapsed < 2*time.Minute:
		unit = time.Second
	case p.Elapsed < 2*time.Hour:
		unit = time.Minute
	}
	return wording.Brief(p.Elapsed.Truncate(unit))
}

// deref returns what p points to, or zero.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
