package toolset

import (
	"bytes"
	"cmp"
	"context"

	"github.com/toolproc/toolproc/chattool/internal/consent"
	"github.com/toolproc/toolproc/chattool/shellfacts"
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
	rep.Error = consent.Ask(ctx, func(ctx context.Context) (bool, string, error) {
		v, err := k.opts.Approve(ctx, q)
		return v.Deny, v.Reason, err
	}, endOf, undone)
	rep.Denied = rep.Error != ""
	return rep, !rep.Denied
}
