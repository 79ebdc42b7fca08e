package main

import (
	"context"
	"io"
	"iter"
	"reflect"
	"strings"

	"charm.land/fantasy"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// note keeps the message of the inbox in the history, if the step has one.
func (s *session) note(ctx context.Context, step fantasy.PrepareStepFunctionOptions) (context.Context, fantasy.PrepareStepResult, error) {
	last := step.Messages[len(step.Messages)-1]
	if last.Role != fantasy.MessageRoleUser || reflect.DeepEqual(last, s.history[len(s.history)-1]) {
		return ctx, fantasy.PrepareStepResult{}, nil
	}
	n, err := s.inbox.Pending(ctx)
	if err != nil || !reflect.DeepEqual(last, fantasy.NewUserMessage(n.Text)) {
		n = toolset.Notices{} // it has changed in this moment, and PrepareStep acknowledges it
	}
	s.tell(last, n)
	return ctx, fantasy.PrepareStepResult{}, nil
}

// tell adds a message of the inbox to the history.
func (s *session) tell(message fantasy.Message, n toolset.Notices) {
	s.history, s.told = append(s.history, message), n
	for _, part := range message.Content {
		if text, ok := fantasy.AsMessagePart[fantasy.TextPart](part); ok {
			s.show.note("%s", text.Text)
		}
	}
}

// talk runs a turn for each prompt that is typed, and one whenever a background process
// ends before the next prompt. After a failed turn it waits for a prompt.
func (s *session) talk(ctx context.Context, in io.Reader) {
	for prompt, woken := range s.prompts(ctx, lines(ctx, in)) {
		work := s.turn
		if woken {
			work = s.wake
		}
		err := work(ctx, prompt)
		if s.failed = err != nil; s.failed && ctx.Err() == nil {
			// The results so far are kept, so that no command has to run again.
			s.show.note("%v\nNothing is lost: Enter goes on from here.", err)
		}
	}
}

// prompts yields the lines that are typed. If the inbox has something before
// that, it yields "" and true.
func (s *session) prompts(ctx context.Context, typed <-chan string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for ctx.Err() == nil {
			s.show.ask()
			idle, end := context.WithCancel(ctx)
			woken, failed := make(chan struct{}), s.failed
			go func() { // it ends with idle
				if !failed && s.inbox.Wait(idle) == nil {
					close(woken)
				}
			}()
			prompt, wake, ok := "", false, true
			select {
			case prompt, ok = <-typed:
			case <-woken:
				wake = true
			case <-ctx.Done():
				ok = false
			}
			end()
			if !ok || !yield(strings.TrimSpace(prompt), wake) {
				return
			}
		}
	}
}

// wake lets the model work on what the inbox has for it.
func (s *session) wake(ctx context.Context, _ string) error {
	n, err := s.inbox.Pending(ctx)
	if err != nil || n.Text == "" {
		return err
	}
	s.tell(fantasy.NewUserMessage(n.Text), n)
	return s.work(ctx)
}
