package chattool

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"charm.land/fantasy"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// PrepareStep returns a function for [fantasy.WithPrepareStep], or for a call of
// an agent, that tells the model what an inbox has: behind the messages of a
// step it puts the text as one more, of the user's role. It acknowledges that
// when the step after it begins, because only then has the provider taken the
// request. If a turn failed and the next one begins with its messages and no
// answer to them, it tells the same once more. Options.Notices of the
// [toolset.Set] should be [toolset.NoticesInInbox].
//
// What the last step of a turn has told is acknowledged when the next turn
// begins. A host that calls inbox.Wait between two turns calls inbox.Ack before
// that, if inbox.Pending still returns what was sent.
//
// To wake an idle model, make the Text of inbox.Pending the prompt of a turn.
// Messages that end with it already get it no second time.
//
// The message is part of that one step. fantasy builds each step from its own
// messages, so the next step, and the history that a host keeps, do not have it.
// What the model has answered to it is there.
//
// next is called with the message in its Messages, and may be nil. If it returns
// Messages without the text, the message is put behind them. The cursor is
// what inbox.Ack(toolset.Notices{}) returns at any time. If the inbox cannot be
// read, the step goes on without it, and the next one tries again. The function
// is for one conversation, whose steps follow each other.
func PrepareStep(inbox *toolset.Inbox, next fantasy.PrepareStepFunction) fantasy.PrepareStepFunction {
	t := &telling{inbox: inbox}
	return func(ctx context.Context, opts fantasy.PrepareStepFunctionOptions) (context.Context, fantasy.PrepareStepResult, error) {
		text := t.text(ctx, opts)
		if text != "" {
			opts.Messages = append(slices.Clone(opts.Messages), fantasy.NewUserMessage(text))
		}
		var prepared fantasy.PrepareStepResult
		if next != nil {
			var err error
			if ctx, prepared, err = next(ctx, opts); err != nil {
				return ctx, prepared, xerrors.Errorf("chattool: prepare step: %w", err)
			}
		}
		switch {
		case text == "":
		case prepared.Messages == nil:
			prepared.Messages = opts.Messages
		case !slices.ContainsFunc(prepared.Messages, func(m fantasy.Message) bool { return has(m, text) }):
			prepared.Messages = append(slices.Clone(prepared.Messages), fantasy.NewUserMessage(text))
		}
		return ctx, prepared, nil
	}
}

// has reports whether a message has a text.
func has(m fantasy.Message, text string) bool {
	return slices.ContainsFunc(m.Content, func(part fantasy.MessagePart) bool {
		p, ok := fantasy.AsMessagePart[fantasy.TextPart](part)
		return ok && strings.Contains(p.Text, text)
	})
}

// A telling is what PrepareStep has told last.
type telling struct {
	inbox   *toolset.Inbox
	notices toolset.Notices
	sent    []fantasy.Message // the messages of that step, without the notices
}

// text acknowledges what was told last, and returns what to add to this step.
func (t *telling) text(ctx context.Context, opts fantasy.PrepareStepFunctionOptions) string {
	if t.notices.Text != "" && !t.failed(opts) {
		t.inbox.Ack(t.notices)
	}
	// On an error there is nothing to tell, and nothing is lost.
	t.notices, _ = t.inbox.Pending(ctx)
	t.sent = opts.Messages
	if n := len(opts.Messages); n > 0 && reflect.DeepEqual(opts.Messages[n-1], fantasy.NewUserMessage(t.notices.Text)) {
		t.sent = opts.Messages[:n-1]
		return ""
	}
	return t.notices.Text
}

// failed reports whether the provider has not answered the step before: a new
// turn begins, with the messages of that step or the first of them, and nothing
// of the model behind them.
func (t *telling) failed(opts fantasy.PrepareStepFunctionOptions) bool {
	n := min(len(t.sent), len(opts.Messages))
	return opts.StepNumber == 0 && n > 0 && reflect.DeepEqual(opts.Messages[:n], t.sent[:n]) &&
		(len(opts.Messages) == n || opts.Messages[n].Role != fantasy.MessageRoleAssistant)
}
