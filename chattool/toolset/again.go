package toolset

import (
	"context"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/chattool/toolset/internal/page"
	"github.com/toolproc/toolproc/chattool/toolset/internal/recall"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// minCompared is how many bytes an output has at least, if it is compared with
	// an earlier one.
	minCompared = 1 << 10
	// compareLimit is how long the manager may take for it.
	compareLimit = 5 * time.Second
)

// compareAgain finds how the output of a report differs from that of an earlier
// process with the same command, if the model has that one before it: of several,
// the one from which it differs least.
func (k *kit) compareAgain(ctx context.Context, t *notices.Turn, r *report) {
	if k.opts.Whole || !r.compare || r.whole || !k.shows(r) || r.From != 0 || r.Out.Process.State != procmgr.Exited || ctx.Err() != nil || printed(*r.Out) <= minCompared {
		return
	}
	p := r.Out.Process
	earlier := k.memory.Before(notices.ConversationOf(t.Manager, p.ChatID), p)
	if len(earlier) == 0 || advice.PrintsFiles(&script.Source{Text: p.Command, Shell: k.shells.of(ctx, t.Manager)}) {
		return
	}
	defer func() { _ = recover() }() // a manager that panics must not cost the result
	ctx, cancel := context.WithTimeout(ctx, compareLimit)
	defer cancel()
	for _, e := range earlier {
		out, err := t.Manager.Output(ctx, p.ID, procmgr.OutputRequest{From: atEnd, Against: e.ID, Limit: k.opts.Limit})
		if err != nil || out.Changes == nil {
			continue // nobody can tell, or this manager does not know the question
		}
		if c := *out.Changes; r.Again == nil || c.Same || c.Added+c.Removed < r.Again.Changes.Added+r.Again.Changes.Removed {
			r.Again = &page.Again{Earlier: e, Changes: c}
		}
		if out.Changes.Same {
			return
		}
	}
}

// printed returns how many bytes an output has.
func printed(out procmgr.Output) int64 {
	if t := out.Truncated; t != nil {
		return t.OriginalBytes
	}
	return int64(len(out.Text))
}

// shows reports whether a result has the output of its process, as far as its
// budget allows.
func (k *kit) shows(r *report) bool {
	return r.Out != nil && r.Reads && !r.isError && r.Screen == nil && !r.Unknown && r.Out.Process.ID != "" && !page.IsBinary(r.Out.Text)
}

// remember notes what a result has shown, when it is written.
func (k *kit) remember(t *notices.Turn, r *report) {
	if t.Manager == nil || r.Out == nil || r.Out.Process.ID == "" {
		return
	}
	// A smaller budget than the usual one may show hardly anything.
	shown := k.shows(r) && r.Earlier == nil && r.Quiet == 0 && (!r.whole || r.Truncated == nil)
	res := resultOf(*r.Out, r.From)
	res.Shown, res.Read = shown, r.read
	k.memory.Note(notices.ConversationOf(t.Manager, r.Out.Process.ChatID), res)
}

// resultOf returns what a result shows of an output from an offset on.
func resultOf(out procmgr.Output, from int64) recall.Result {
	live := out.Text[len(out.Text)-min(max(out.LiveBytes, 0), len(out.Text)):]
	return recall.Result{Process: out.Process, From: from, Next: out.Next, Live: live}
}

// lastTook notes how long the command of a process took last.
func (k *kit) lastTook(r *report, m procmgr.Manager, p procmgr.Process) {
	r.LastTook, _ = k.memory.Took(notices.ConversationOf(m, p.ChatID), p)
}

// tookLast says how long the command took last, or is "".
func (r *report) tookLast() string {
	if r.LastTook <= 0 {
		return ""
	}
	return "; took " + wording.Brief(r.LastTook) + " last time"
}
