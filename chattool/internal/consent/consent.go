// Package consent asks the host before a call does its work, and says in words what
// came of it.
package consent

import (
	"context"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/internal/wording"
)

// Ask asks the host. If it denies, refusal has the words for the model, and otherwise
// it is "". An error, a panic and a context that has ended deny as well. ended says how
// a context has ended, and undone what was not done, as in "Nothing was started".
func Ask(ctx context.Context, decide func(context.Context) (deny bool, reason string, err error), ended func(context.Context) string, undone string) (refusal string) {
	deny, reason, err := safely(ctx, decide)
	switch {
	case ctx.Err() != nil:
		reason = ended(ctx) + " before it was allowed"
	case err != nil:
		reason = "it could not be decided: " + err.Error()
	case !deny:
		return ""
	}
	refusal = "denied: "
	if reason != "" {
		refusal += wording.Sentence(wording.Clip(reason, wording.MaxWords)) + " "
	}
	return refusal + undone + ": do not look for a way around it; tell the user if the task needs it"
}

// safely calls a function that may panic.
func safely(ctx context.Context, decide func(context.Context) (bool, string, error)) (deny bool, reason string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = xerrors.Errorf("the policy failed: %v", p)
		}
	}()
	return decide(ctx)
}
