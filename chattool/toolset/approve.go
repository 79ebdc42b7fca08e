package toolset

import (
	"bytes"
	"cmp"
	"context"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/shellfacts"
	"github.com/toolproc/toolproc/chattool/toolset/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// ask asks Options.Approve about a call. If ok is false, the call must do
// nothing, and the report says so. undone says what was not done, as in
// "nothing was started".
func (k *kit) ask(ctx context.Context, m procmgr.Manager, q Question, undone string) (rep report, ok bool) {
	if k.opts.Approve == nil {
		return rep, true
	}
	q.Call.Arguments = bytes.Clone(q.Call.Arguments)
	q.Description = k.shells.description(ctx, m)
	if q.Facts.Why == nil { // else it is no command
		q.Facts = shellfacts.Parse(q.Command, cmp.Or(k.shells.named, q.Description.Shell))
	}
	verdict, err := approve(ctx, k.opts.Approve, q)
	switch {
	case ctx.Err() != nil:
		verdict = Verdict{Deny: true, Reason: endOf(ctx) + " before it was allowed"}
	case err != nil:
		verdict = Verdict{Deny: true, Reason: "it could not be decided: " + err.Error()}
	case !verdict.Deny:
		return rep, true
	}
	rep.Denied, rep.Error = true, "denied: "
	if verdict.Reason != "" {
		rep.Error += wording.Sentence(wording.Clip(verdict.Reason, wording.MaxWords)) + " "
	}
	rep.Error += undone + ": do not look for a way around it; tell the user if the task needs it"
	return rep, false
}

// approve calls a function that may panic.
func approve(ctx context.Context, f func(context.Context, Question) (Verdict, error), q Question) (v Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = xerrors.Errorf("the policy failed: %v", p)
		}
	}()
	return f(ctx, q)
}
