package chattool

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"charm.land/fantasy"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// maxTold is how many messages of one Inbox are put into the steps. If there are
// more, the oldest are left out.
const maxTold = 256

// PrepareStep returns a function for [fantasy.WithPrepareStep], or for a call of
// an agent, that tells the model what an inbox has: behind the messages of a
// step it puts the text as one more, of the user's role. fantasy builds each step
// from its own messages, which do not have it. So each later step, also of later
// turns, gets the message again, behind the message that it was behind at first. If
// that one is no longer there, for example because the host has put a summary in its
// place, neither is the message. If the host keeps the message in its history, as next
// can do, it is not put there twice.
//
// The text is acknowledged when a step has an answer of the model behind it. Until
// then each step has it, or what has become of it. The
// [toolset.Set] needs Options.NoticesInInbox.
//
// What the last step of a turn has told is acknowledged when the next turn
// begins. A host that calls inbox.Wait between two turns calls inbox.Ack before
// that. To wake an idle model, make the Text of inbox.Pending the prompt of a turn.
// Messages that have it already get it no second time.
//
// next is called with the messages in its Messages, and may be nil. If it returns
// Messages without a text that is not acknowledged, the message is put behind
// them. The cursor is what inbox.Ack(toolset.Notices{}) returns at any time. If
// the inbox cannot be read, the step goes on without it, and the next one tries
// again.
//
// What was told, and where, is kept in the function. So a host makes it once for a
// conversation, whose steps follow each other. Another program does not know what this
// one has told: a history that outlives the program has to have the messages in it.
func PrepareStep(inbox *toolset.Inbox, next fantasy.PrepareStepFunction) fantasy.PrepareStepFunction {
	t := &delivery{inbox: inbox}
	return func(ctx context.Context, opts fantasy.PrepareStepFunctionOptions) (context.Context, fantasy.PrepareStepResult, error) {
		given := len(opts.Messages)
		var text string
		opts.Messages, text = t.tell(ctx, opts.Messages)
		var prepared fantasy.PrepareStepResult
		if next != nil {
			var err error
			if ctx, prepared, err = next(ctx, opts); err != nil {
				return ctx, prepared, xerrors.Errorf("chattool: prepare step: %w", err)
			}
		}
		switch {
		case prepared.Messages == nil && len(opts.Messages) > given:
			prepared.Messages = opts.Messages
		case prepared.Messages != nil && text != "" && where(prepared.Messages, text) < 0:
			prepared.Messages = append(slices.Clone(prepared.Messages), fantasy.NewUserMessage(text))
		}
		return ctx, prepared, nil
	}
}

// where returns the index of the message of the user's role that has a text, or
// -1.
func where(messages []fantasy.Message, text string) int {
	return slices.IndexFunc(messages, func(m fantasy.Message) bool {
		return m.Role == fantasy.MessageRoleUser && slices.ContainsFunc(m.Content, func(part fantasy.MessagePart) bool {
			p, ok := fantasy.AsMessagePart[fantasy.TextPart](part)
			return ok && strings.Contains(p.Text, text)
		})
	})
}

// A delivery is what a function of PrepareStep has told of its Inbox.
type delivery struct {
	inbox *toolset.Inbox

	mu   sync.Mutex      // guards the fields below
	told []placedMessage // in the order in which it was told
	// open are the notices of the last of them, if they are not acknowledged.
	open  toolset.Notices
	given []fantasy.Message // the messages of the last step, without what was told
}

// A placedMessage is one message, and its place: it is the one at the index at, behind
// the message after.
type placedMessage struct {
	text  string
	at    int
	after fantasy.Message
}

// tell returns the messages of a step with all that was told in its place, and
// with what is to be told now. text is what is not acknowledged of that, or "".
func (t *delivery) tell(ctx context.Context, messages []fantasy.Message) (whole []fantasy.Message, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	anew := len(messages) <= len(t.given) && slices.EqualFunc(messages, t.given[:len(messages)], same) // a turn that failed begins anew
	t.given, whole = slices.Clone(messages), slices.Clone(messages)
	answered := false
	kept := t.told[:0]
	for _, m := range t.told {
		i := where(whole, m.text)
		if i < 0 {
			if i = m.place(whole); i < 0 && anew {
				i = len(whole)
			}
			if i < 0 {
				continue
			}
			whole = slices.Insert(whole, i, fantasy.NewUserMessage(m.text))
		}
		if m.text == t.open.Text {
			answered = slices.ContainsFunc(whole[i:], func(m fantasy.Message) bool { return m.Role == fantasy.MessageRoleAssistant })
		}
		kept = append(kept, toldAt(whole, i, m.text))
	}
	t.told = kept
	if answered {
		t.inbox.Ack(t.open)
		t.open = toolset.Notices{}
	}
	n, err := t.inbox.Pending(ctx)
	if err != nil { // there is nothing to tell, and nothing is lost
		return whole, t.open.Text
	}
	if old := t.open.Text; old != "" && old != n.Text { // the model was not told, and need not be told all of it any more
		t.told = slices.DeleteFunc(t.told, func(m placedMessage) bool { return m.text == old })
		if i := where(whole, old); i >= 0 && where(messages, old) < 0 {
			whole = slices.Delete(whole, i, i+1)
		}
	}
	if t.open = n; n.Text != "" {
		whole = t.add(whole, n.Text)
	}
	return whole, n.Text
}

// add notes that a text is told, and puts it behind the messages if they do not
// have it.
func (t *delivery) add(whole []fantasy.Message, text string) []fantasy.Message {
	at := where(whole, text)
	if at < 0 {
		at = len(whole)
		whole = append(whole, fantasy.NewUserMessage(text))
	}
	if slices.ContainsFunc(t.told, func(m placedMessage) bool { return m.text == text }) {
		return whole
	}
	t.told = append(t.told, toldAt(whole, at, text))
	t.told = t.told[max(len(t.told)-maxTold, 0):]
	return whole
}

// toldAt returns a message that is told at an index.
func toldAt(whole []fantasy.Message, at int, text string) placedMessage {
	m := placedMessage{text: text, at: at}
	if at > 0 {
		m.after = whole[at-1]
	}
	return m
}

// place returns the index at which a message belongs, or -1 if the one that it
// is behind is not there.
func (m placedMessage) place(whole []fantasy.Message) int {
	if m.at == 0 || m.at <= len(whole) && same(whole[m.at-1], m.after) {
		return m.at
	}
	for i, other := range slices.Backward(whole) {
		if same(other, m.after) {
			return i + 1
		}
	}
	return -1
}

// same reports whether two messages say the same. One of them may have been
// stored and read again.
func same(a, b fantasy.Message) bool {
	a.ProviderOptions, b.ProviderOptions = nil, nil
	if a.Role != b.Role || len(a.Content) != len(b.Content) {
		return false
	}
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, xerr := json.Marshal(a)
	y, yerr := json.Marshal(b)
	return xerr == nil && yerr == nil && bytes.Equal(x, y)
}
