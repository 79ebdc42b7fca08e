package filetool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr"
)

// A report is a result that a tool is making.
type report struct {
	toolset.Report
	// The result of the tool that was called, if it has done its work.
	read    *procfile.ReadResult
	written *procfile.WriteResult
	edited  *procfile.EditResult

	isError bool
	path    string // where the file is, if the call names it otherwise
}

// refuse returns the result of a call that the tool could not carry out.
func refuse(format string, args ...any) report {
	r := report{isError: true}
	r.Error = fmt.Sprintf(format, args...)
	return r
}

// add appends a note.
func (r *report) add(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	if format != "" {
		r.Notes = append(r.Notes, format)
	}
}

// lost adds a note on what a new file has not.
func (r *report) lost(what []string) {
	if len(what) > 0 {
		r.add("It is a new file in the place of the old one, without its %s; tell the user if that matters", oneLine(strings.Join(what, ", ")))
	}
}

// failed returns the result of a call that failed. undone says what was not done, as
// in "nothing was written".
func (s *Set) failed(err error, undone string) report {
	why := clip(procfile.Reason(err))
	switch {
	case errors.Is(err, procmgr.ErrUnknown):
		return refuse("it is unknown whether it was written: %s Read the file before you write again", sentence(why))
	case errors.Is(err, procmgr.ErrRefused):
		return refuse("%s: %s This was not allowed, and a second try will not be either: do not retry it, nor look for a way around it; tell the user if the task needs it", undone, sentence(why))
	case errors.Is(err, errors.ErrUnsupported):
		return refuse("%s: %s This host does not offer it, and a second try will not change that: use a command, or tell the user if the task needs it", undone, sentence(why))
	case errors.Is(err, fs.ErrPermission):
		return refuse("%s: %s Tell the user if the task needs it", undone, sentence(why))
	}
	return refuse("%s: %s", undone, why)
}

// A resultObject is a report in JSON. A field that says nothing is left out.
type resultObject struct {
	Success    bool    `json:"success"`
	Output     *string `json:"output,omitempty"`
	Path       string  `json:"path,omitempty"`
	Lines      *int64  `json:"lines,omitempty"`
	Size       *int64  `json:"size,omitempty"`
	Encoding   string  `json:"encoding,omitempty"`
	LineEnds   string  `json:"line_ends,omitempty"`
	Created    bool    `json:"created,omitempty"`
	Places     int     `json:"places,omitempty"`
	NextOffset *int64  `json:"next_offset,omitempty"`
	Error      string  `json:"error,omitempty"`
	Denied     bool    `json:"denied,omitempty"`
	Note       string  `json:"note,omitempty"`
}

// finish makes the result of a report.
func (s *Set) finish(r report) toolset.Result {
	r.Success = r.Error == ""
	return toolset.Result{Content: s.render(r), Report: r.Report, IsError: r.isError}
}

func (s *Set) render(r report) string {
	o := resultObject{
		Success: r.Success, Output: r.Output, Path: r.path, NextOffset: r.NextOffset,
		Error: r.Error, Denied: r.Denied, Note: sentences(r.Notes),
	}
	about := func(i procfile.FileInfo) {
		o.Lines, o.Size = &i.Total, &i.Size
		if i.Encoding != procfile.UTF8 {
			o.Encoding = string(i.Encoding)
		}
		if i.Ends == procfile.CRLF || i.Ends == procfile.Mixed {
			o.LineEnds = string(i.Ends)
		}
	}
	switch {
	case r.read != nil:
		about(r.read.FileInfo)
	case r.written != nil:
		about(r.written.FileInfo)
		o.Created = r.written.Created
	case r.edited != nil:
		for _, f := range r.edited.Files {
			o.Places += f.Places
		}
	}
	if s.opts.Format == toolset.FormatText {
		return o.text(r)
	}
	return encode(o)
}

// text writes a result as toolset.FormatText has it.
func (o resultObject) text(r report) string {
	var facts []string
	add := func(is bool, format string, args ...any) {
		if is {
			facts = append(facts, fmt.Sprintf(format, args...))
		}
	}
	add(o.Denied, "denied")
	add(!o.Success && !o.Denied, "failed")
	if r.read != nil && len(r.read.Lines) > 0 {
		add(true, "lines %d to %d", r.read.From, r.read.From+int64(len(r.read.Lines))-1)
	}
	add(o.Created, "created")
	add(r.written != nil && !o.Created, "replaced")
	add(r.edited != nil, "replaced %s", counted(o.Places, "place", "places"))
	if o.Lines != nil {
		add(true, "%d lines in all", *o.Lines)
		add(true, "%d bytes", *o.Size)
	}
	add(o.Encoding != "", "%s", oneLine(o.Encoding))
	add(o.LineEnds != "", "line ends %s", oneLine(o.LineEnds))
	if o.NextOffset != nil {
		add(true, "next_offset %d", *o.NextOffset)
	}
	var b strings.Builder
	b.WriteString(strings.Join(facts, " · "))
	line := func(what, text string) {
		if text != "" {
			b.WriteString("\n" + what + ": " + oneLine(text))
		}
	}
	line("error", o.Error)
	line("path", o.Path)
	for _, note := range r.Notes {
		line("note", note)
	}
	if o.Output != nil {
		b.WriteString("\n---\n" + *o.Output)
	}
	return b.String()
}

// maxWords is how much of an error a result quotes, in bytes.
const maxWords = 2000

// clip shortens an error.
func clip(words string) string {
	words = strings.ToValidUTF8(words, "\uFFFD")
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + "…"
	}
	return words
}

// oneLine returns a text without line ends and controls: each of them becomes an escape
// sequence, so that a name cannot look like another line of a result.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// sentence ends words with a full stop if they have no end, so that another sentence can
// follow.
func sentence(words string) string {
	if words == "" || strings.ContainsAny(words[len(words)-1:], ".?!") {
		return words
	}
	return words + "."
}

// sentences writes notes one after the other.
func sentences(notes []string) string {
	var b strings.Builder
	for _, note := range notes[:max(len(notes)-1, 0)] {
		b.WriteString(sentence(note) + " ")
	}
	return b.String() + strings.Join(notes[max(len(notes)-1, 0):], "")
}

// counted writes a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// masked tells of values that are masked in a result. It is "" if there are none.
func masked(names []string) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n > mostNamed:
		names = append(names[:mostNamed:mostNamed], "others")
	}
	return "Masked in the output, not in files: " + oneLine(strings.Join(names, ", ")) + ". Commands see what is really there."
}

// encode returns one JSON object on one line, in which < and & stay as they are: it is for
// a model and not for a web page.
func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return `{"success":false,"error":"the result could not be encoded"}` // it has texts and numbers alone
	}
	return strings.TrimSuffix(b.String(), "\n")
}
