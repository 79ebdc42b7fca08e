package toolset

import (
	"context"
	"slices"

	"github.com/toolproc/toolproc/headtail"
)

// A writer writes results for a model. Its fields are those of Options.
type writer struct {
	Format      Format
	KeepRepeats bool
	Limit       headtail.Limits
	CountTokens func(text string) int
	// OutputTool is the name of the tool that reads the output of a process.
	OutputTool string
}

// write lays out the output of a draft within its budget, which completes the
// report, and returns the text of the result.
func (w writer) write(ctx context.Context, d *report) string {
	if d.Reads {
		plain := d.Report
		l := layout{writer: w, ctx: ctx, draft: d, log: d.LogPath}
		d.unprintable = l.unprintable()
		l.notes = slices.Concat(d.Notes, d.unprintable)
		if d.Again == nil {
			w.attempt(d.Budget, l.lay)
			return w.Format.render(d.Report)
		}
		// A result with what differs has no highlights, so none are searched for yet.
		find := d.Find
		d.Find = nil
		w.attempt(d.Budget, l.lay)
		d.Find = find
		if short, ok := w.again(d, plain); ok {
			d.Report = short
		} else if find != nil && d.Truncated != nil {
			d.Report = plain
			w.attempt(d.Budget, l.lay)
		}
	}
	return w.Format.render(d.Report)
}
