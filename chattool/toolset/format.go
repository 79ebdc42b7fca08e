package toolset

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/toolproc/toolproc/procmgr"
)

// A Format is the form of the text that a model reads.
type Format int

const (
	// FormatJSON is one JSON object on one line.
	FormatJSON Format = iota
	// FormatText is a header, a line with --- and the output, untouched. The
	// header is one line of facts, and then lines that begin with what they
	// are, such as "note: ". What a header quotes has its line ends and
	// controls escaped, so the first line with --- ends the header, whatever a
	// program prints. It takes fewer tokens than JSON.
	FormatText
)

// render returns the text of a report for a model.
func (f Format) render(r Report) string {
	if f == FormatText {
		return r.text()
	}
	return r.json()
}

// cost returns how many bytes a text takes in a result.
func (f Format) cost(text string) int {
	if f == FormatText {
		return len(text)
	}
	return encodedLen(text)
}

// A resultObject is a report in JSON. A field that says nothing is left out.
type resultObject struct {
	Success             bool          `json:"success"`
	Output              *string       `json:"output,omitempty"`
	ExitCode            *int          `json:"exit_code,omitempty"`
	Signal              string        `json:"signal,omitempty"`
	State               procmgr.State `json:"state,omitempty"`
	WorkDir             string        `json:"workdir,omitempty"`
	Duration            string        `json:"duration,omitempty"`
	Error               string        `json:"error,omitempty"`
	Truncated           *truncated    `json:"truncated,omitempty"`
	Folded              int           `json:"folded,omitempty"`
	Shown               int           `json:"shown,omitempty"`
	Note                string        `json:"note,omitempty"`
	BackgroundProcessID string        `json:"background_process_id,omitempty"`
	NextOffset          *int64        `json:"next_offset,omitempty"`
	LogPath             string        `json:"log_path,omitempty"`
	Meanwhile           []string      `json:"meanwhile,omitempty"`
}

// truncated has the numbers of a headtail.Truncation that a model can use.
type truncated struct {
	OriginalBytes int64 `json:"original_bytes"`
	RetainedBytes int64 `json:"retained_bytes"`
	OmittedBytes  int64 `json:"omitted_bytes"`
	Lines         int   `json:"truncated_lines,omitempty"`
	Unknown       bool  `json:"unknown,omitempty"`
}

// A listing is a report of process_list in JSON.
type listing struct {
	Processes  []listed `json:"processes"`             // never null
	Omitted    int      `json:"omitted,omitempty"`     // how many more follow these
	NextOffset *int64   `json:"next_offset,omitempty"` // the offset that lists them
	Note       string   `json:"note,omitempty"`
	Meanwhile  []string `json:"meanwhile,omitempty"`
}

type listed struct {
	ID       string        `json:"process_id"`
	State    procmgr.State `json:"state"`
	Command  string        `json:"command"`
	Age      string        `json:"age,omitempty"` // since the start
	ExitCode *int          `json:"exit_code,omitempty"`
}

func (r Report) json() string {
	note := sentences(r.Notes)
	if r.Processes != nil {
		l := listing{Processes: make([]listed, 0, len(r.Processes)), Omitted: r.Omitted, NextOffset: r.NextOffset, Note: note, Meanwhile: r.Meanwhile}
		for _, p := range r.Processes {
			l.Processes = append(l.Processes, listed{ID: p.ID, State: p.State, Command: p.Command, Age: age(p), ExitCode: p.ExitCode})
		}
		return encode(l)
	}
	o := resultObject{
		Success:             r.Success,
		Output:              r.Output,
		ExitCode:            r.ExitCode,
		Signal:              r.Signal,
		State:               r.State,
		WorkDir:             r.WorkDir,
		Error:               r.Error,
		Folded:              r.Folded,
		Shown:               r.Shown,
		Note:                note,
		BackgroundProcessID: r.ProcessID,
		NextOffset:          r.NextOffset,
		LogPath:             r.LogPath,
		Meanwhile:           r.Meanwhile,
	}
	if r.Duration > 0 {
		o.Duration = brief(r.Duration)
	}
	if t := r.Truncated; t != nil {
		o.Truncated = &truncated{t.OriginalBytes, t.RetainedBytes, t.OmittedBytes, t.TruncatedLines, t.Unknown}
	}
	return encode(o)
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

// sentences writes notes one after the other.
func sentences(notes []string) string {
	var b strings.Builder
	for i, note := range notes {
		if i == len(notes)-1 {
			b.WriteString(note)
		} else {
			b.WriteString(sentence(note) + " ")
		}
	}
	return b.String()
}

// headerEnd stands between the header of a text and the output.
const headerEnd = "\n---\n"

// text writes a report as FormatText.
func (r Report) text() string {
	var b strings.Builder
	b.WriteString(strings.Join(r.facts(), " · "))
	line := func(what, text string) {
		if text != "" {
			b.WriteString("\n" + what + ": " + oneLine(text))
		}
	}
	line("error", r.Error)
	line("workdir", r.WorkDir)
	logged := r.LogPath == ""
	for _, note := range r.Notes {
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
		add(true, "%s", counted(len(r.Processes), "process", "processes"))
		add(r.Omitted > 0 && r.NextOffset != nil, "%d more from offset %d on", r.Omitted, deref(r.NextOffset))
		return facts
	}
	ended := r.State == "" || r.State == procmgr.Exited
	add(!ended, "%s", oneLine(string(r.State)))
	add(r.ExitCode != nil, "exit code %d", deref(r.ExitCode))
	add(r.Signal != "", "%s", oneLine(r.Signal))
	add(r.State == procmgr.Exited && r.ExitCode == nil && r.Signal == "", "exited")
	add(r.State == "" && r.ExitCode == nil && r.Success, "done")
	add(r.State == "" && r.ExitCode == nil && !r.Success, "failed")
	add(r.Duration > 0, "%s", brief(r.Duration))
	add(r.ProcessID != "", "process %s", oneLine(r.ProcessID))
	add(r.NextOffset != nil, "next_offset %d", deref(r.NextOffset))
	add(r.Folded > 0, "folded %s", counted(r.Folded, "run", "runs"))
	add(r.Shown > 0, "shown %s", counted(r.Shown, "highlight", "highlights"))
	if t := r.Truncated; t != nil && t.OmittedBytes > 0 {
		add(t.TruncatedLines > 0, "cut %s", counted(t.TruncatedLines, "line", "lines"))
		add(true, "%s bytes printed, %s shown", grouped(t.OriginalBytes), grouped(t.RetainedBytes))
	}
	return facts
}

// row writes a process as one line of a table. The command is its last column. It
// is quoted if it could be taken for more columns, or for a quoted one.
func row(p procmgr.Process) string {
	command := oneLine(p.Command)
	if strings.Contains(command, "  ") || strings.HasPrefix(command, `"`) {
		command = strconv.Quote(p.Command)
	}
	state := string(p.State)
	if p.ExitCode != nil {
		state += " " + strconv.Itoa(*p.ExitCode)
	}
	return fmt.Sprintf("%s  %s  %s  %s\n", oneLine(p.ID), oneLine(state), age(p), command)
}

// oneLine returns a text as valid UTF-8 without line ends and controls: each of
// them becomes an escape sequence, as Go writes it in a string.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsFunc(text, breaks) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if breaks(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// breaks reports whether a rune could end a line, or move what follows.
func breaks(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r)
}

// brief writes a duration as people do: 350ms, 12.3s, 2m5s, 3h20m, 4d2h.
func brief(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return spell(d.Round(time.Second))
	case d < 2*day:
		return spell(d.Round(time.Minute))
	}
	d = d.Round(time.Hour)
	text := strconv.Itoa(int(d/day)) + "d"
	if rest := d % day; rest > 0 {
		text += strconv.Itoa(int(rest/time.Hour)) + "h"
	}
	return text
}

// age says how long ago a process was started, in one unit, or "" if that is
// not known.
func age(p procmgr.Process) string {
	const day = 24 * time.Hour
	if p.StartedAt.IsZero() {
		return ""
	}
	switch d := max(time.Since(p.StartedAt), 0); {
	case d < 2*time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 2*day:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	default:
		return strconv.Itoa(int(d/day)) + "d"
	}
}

// counted writes a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// grouped writes a number with a comma before each three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// deref returns what p points to, or zero.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
