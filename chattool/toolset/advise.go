package toolset

import (
	"context"

	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/procmgr"
)

// advise adds the notes on a command to its report. In a, the caller says which
// command it is, what it printed and how it was called.
func (k *kit) advise(ctx context.Context, rep *report, m procmgr.Manager, a advice.Result) {
	a.Tools = advice.Tools{Execute: k.names.execute, Signal: k.names.signal, Input: k.names.input, ReadFile: k.opts.Files.Read, ReadCall: k.opts.Files.ReadCall}
	if !k.machines.hasInput(m) {
		a.Tools.Input = ""
	}
	for _, note := range advice.Notes(a) {
		rep.Add(note)
	}
	for _, note := range k.hostAdvice(rep, a.Output.Text) {
		rep.Add("%s", note)
	}
	rep.Add(advice.Masked(a.Output))
}

// hostAdvice calls Options.Advise. A panic of it must not cost the result.
func (k *kit) hostAdvice(rep *report, text string) (notes []string) {
	if k.opts.Advise == nil {
		return nil
	}
	defer func() { _ = recover() }()
	r := rep.Report
	r.Output = &text
	return k.opts.Advise(r)
}
