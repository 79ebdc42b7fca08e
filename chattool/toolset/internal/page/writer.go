package page

import (
	"context"
	"fmt"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// A Writer writes results for a model. The fields are those of toolset.Options.
type Writer struct {
	Format      Format
	KeepRepeats bool
	Limit       headtail.Limits
	CountTokens func(text string) int
	// OutputTool is the name of the tool that reads the output of a process.
	OutputTool string
}

// A Report has the facts of a result. Its fields are those of Report in package
// toolset.
type Report struct {
	Success       bool
	Error         string
	Denied        bool
	Forbidden     bool
	State         procmgr.State
	ExitCode      *int
	Signal        string
	Duration      time.Duration
	WorkDir       string
	Waiting       *procmgr.Waiting
	ProcessID     string
	NextOffset    *int64
	LogPath       string
	Output        *string
	Truncated     *headtail.Truncation
	Shows         []Span
	Highlights    []procmgr.Highlight
	Folded, Shown int
	Screen        *procmgr.Screen
	Notes         []string
	Meanwhile     []string
	Processes     []procmgr.Process
	Omitted       int
	Earlier       *procmgr.Process
	Changes       *procmgr.Changes
	Quiet         time.Duration
	LastTook      time.Duration
}

// A Span is a part of the stream of a process. Package toolset exports it.
type Span struct {
	From, To int64 // offsets in bytes
}

// A Draft is a result that a tool is making: the facts, and the output that the
// writer still has to lay out.
type Draft struct {
	Report
	// Out is the process and what was read of it, or nil if no process is
	// known. If Reads is set, its text belongs in the result; it begins at the
	// offset From.
	Out    *procmgr.Output
	Reads  bool
	From   int64
	Budget Budget
	// Unknown says that output was lost, and that nobody knows how much.
	Unknown bool
	// Find reads the highlights of the output. It is nil if there can be none.
	Find Finder
	// Again is how the output differs from one that the model has. If it is not
	// nil, the result may have that in the place of the output.
	Again *Again
}

// Add appends a note.
func (d *Draft) Add(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	if format != "" {
		d.Notes = append(d.Notes, format)
	}
}

// Write lays out the output of a draft within its budget, which completes the
// report, and returns the text of the result.
func (w Writer) Write(ctx context.Context, d *Draft) string {
	if d.Reads {
		plain := d.Report
		l := layout{writer: w, ctx: ctx, draft: d, notes: d.Notes, log: d.LogPath}
		w.attempt(d.Budget, l.lay)
		if d.Again != nil {
			if short, ok := w.again(d, plain); ok {
				d.Report = short
			}
		}
	}
	return w.Format.Render(d.Report)
}
