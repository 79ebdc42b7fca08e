package toolset

import (
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/wording"
)

// advise adds the notes on a command to its report. In a, the caller says which
// command it is, what it printed and how it was called.
func (s *Set) advise(rep *report, a advice.Result) {
	p := a.Output.Process
	a.Alive, a.Failed = alive(p), failed(p)
	a.Ran = wording.Span(p.StartedAt, p.ExitedAt)
	a.Tools = advice.Tools{Execute: s.names.execute, Output: s.names.output, Signal: s.names.signal, Input: s.names.input, ReadFile: s.opts.ReadFileTool}
	for _, note := range advice.Notes(a) {
		rep.Add(note)
	}
}
