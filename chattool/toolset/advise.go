package toolset

import (
	"context"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/procmgr"
)

// advise adds the notes on a command to its report. In a, the caller says which
// command it is, what it printed and how it was called.
func (k *kit) advise(ctx context.Context, rep *report, m procmgr.Manager, a advice.Result) {
	p := a.Output.Process
	a.Alive, a.Failed = alive(p), failed(p)
	if a.Failed {
		a.Sandbox = k.shells.description(ctx, m).Sandbox
	}
	a.Ran = wording.Span(p.StartedAt, p.ExitedAt)
	a.Tools = advice.Tools{Execute: k.names.execute, Output: k.names.output, Signal: k.names.signal, Input: k.names.input, ReadFile: k.opts.ReadFileTool}
	if k.opts.Files != nil && k.opts.ReadFileTool == "" {
		a.Tools.ReadFile, a.Tools.ReadFileCall = k.opts.Files.ReadFileTool(), true
	}
	if none, _ := k.noInput.from(m); none {
		a.Tools.Input = ""
	}
	rep.Forbidden = a.Forbidden()
	for _, note := range advice.Notes(a) {
		rep.Add(note)
	}
	if note := advice.Redacted(a.Output); note != "" {
		rep.Add(note)
	}
}
