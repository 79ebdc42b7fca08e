package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"charm.land/fantasy"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

const system = "You work for a developer, in a directory of theirs, by running commands. " +
	"Do what you are asked for, see that it works, and report in a few sentences."

// errStopped is the error of a turn that Ctrl-C has stopped.
var errStopped = errors.New("stopped")

// A session is a conversation with an agent. It does one turn at a time.
type session struct {
	agent      fantasy.Agent
	set        *toolset.Set
	show       *screen
	interrupts <-chan os.Signal
	// inbox has what no result has shown of background processes.
	inbox   *toolset.Inbox
	cursor  cursor // of the inbox
	history []fantasy.Message
	// maxRetries is how often fantasy asks again. nil means fantasy's default.
	maxRetries *int
}

// newSession returns a session whose commands run on a manager. It goes on from a
// cursor. The caller closes its set.
func newSession(model fantasy.LanguageModel, manager procmgr.Manager, from cursor, show *screen, opts *toolset.Options, maxTokens int64, maxSteps int) (*session, error) {
	opts.Format = toolset.FormatText // the screen shows it as it is
	opts.NoticesInInbox = true
	opts.OnOutput = show.output
	opts.Intercept = func(ctx context.Context, c toolset.Call, next func(context.Context) toolset.Result) toolset.Result {
		process := show.call(c)
		res := next(ctx)
		show.result(process, res)
		return res
	}
	set, err := toolset.New(toolset.Static(manager), opts)
	if err != nil {
		return nil, err
	}
	s := &session{set: set, show: show, cursor: from, inbox: set.Inbox(context.Background(), from.read())}
	s.cursor.write(s.inbox) // what a run leaves that is killed at once is told of, too
	s.agent = chattool.NewAgent(model, chattool.Tools(set),
		fantasy.WithSystemPrompt(system),
		fantasy.WithMaxOutputTokens(maxTokens),
		fantasy.WithStopConditions(fantasy.StepCountIs(maxSteps)),
		fantasy.WithPrepareStep(func(ctx context.Context, step fantasy.PrepareStepFunctionOptions) (context.Context, fantasy.PrepareStepResult, error) {
			s.hear(ctx)
			// The first message is the system prompt. The others are the history, without
			// what the inbox had since the turn began.
			return ctx, fantasy.PrepareStepResult{Messages: append(step.Messages[:1:1], s.history...)}, nil
		}),
	)
	return s, nil
}

// hear moves what the inbox has into the history, which each later request has. The
// cursor is written when the model has answered: if the agent dies before that, the
// next run tells it again.
func (s *session) hear(ctx context.Context) {
	n, err := s.inbox.Pending(ctx)
	if err != nil || n.Text == "" {
		return // nothing is lost: the next step looks again
	}
	s.inbox.Ack(n)
	s.history = append(s.history, fantasy.NewUserMessage(n.Text))
	s.show.note("%s", n.Text)
}

// turn lets the model work until an answer has no call, or until Ctrl-C. Without a
// prompt it works on what the inbox has, or goes on where the last turn broke off.
//
// If a provider fails, fantasy asks again by itself, before it runs any call of
// that answer. If fantasy gives up, it drops the turn and with it the results
// of the commands that have run. But the history keeps these results step by
// step, so no command runs again.
func (s *session) turn(ctx context.Context, prompt string) error {
	if prompt != "" {
		s.history = append(s.history, fantasy.NewUserMessage(prompt))
	}
	s.hear(ctx)
	if last := len(s.history) - 1; last < 0 || s.history[last].Role == fantasy.MessageRoleAssistant {
		return nil // there is nothing to go on with
	}
	turnCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // it ends with the turn
		select {
		case <-s.interrupts:
			_, _ = s.set.Stop(ctx) // what runs in the background goes on
			cancel()
		case <-turnCtx.Done():
		}
	}()
	result, err := s.agent.Stream(turnCtx, fantasy.AgentStreamCall{
		Messages:    s.history,
		MaxRetries:  s.maxRetries,
		OnTextDelta: func(_, text string) error { s.show.text(text); return nil },
		OnTextEnd:   func(string) error { s.show.endText(); return nil },
		OnToolCall: func(call fantasy.ToolCallContent) error {
			if call.Invalid { // the call reaches no tool
				s.show.note("the call of %q was refused: %q", call.ToolName, fmt.Sprint(call.ValidationError))
			}
			return nil
		},
		OnStepFinish: func(step fantasy.StepResult) error {
			s.history = append(s.history, step.Messages...)
			s.cursor.write(s.inbox)
			return nil
		},
		OnRetry: func(err *fantasy.ProviderError, delay time.Duration) {
			if err == nil { // the network failed
				s.show.note("the connection broke; asking once more in %v", delay)
				return
			}
			s.show.note("%v; asking once more in %v", err, delay)
		},
	})
	switch {
	case ctx.Err() != nil:
		return xerrors.Errorf("stopped before the end: %w", ctx.Err())
	case err != nil && turnCtx.Err() != nil:
		return errStopped
	case err != nil:
		return err
	}
	switch result.Steps[len(result.Steps)-1].FinishReason {
	case fantasy.FinishReasonLength:
		s.show.note("The answer was cut at -max-tokens.")
	case fantasy.FinishReasonToolCalls:
		s.show.note("Paused after -max-steps: Enter goes on.")
	}
	return nil
}

// talk runs a turn for each prompt that is typed, and one whenever the inbox has
// something before the next prompt. After a failed turn it waits for a prompt.
func (s *session) talk(ctx context.Context, in io.Reader) {
	typed, wake := lines(ctx, in), true
	for ctx.Err() == nil {
		s.show.ask()
		prompt, ok := s.next(ctx, typed, wake)
		if !ok {
			return
		}
		err := s.turn(ctx, prompt)
		if wake = err == nil; !wake && ctx.Err() == nil {
			// The results so far are kept, so that no command has to run again.
			s.show.note("%v\nNothing is lost: Enter goes on from here.", err)
		}
	}
}

// next returns the next line that is typed. With wake it returns "" if the inbox has
// something before that.
func (s *session) next(ctx context.Context, typed <-chan string, wake bool) (prompt string, ok bool) {
	idle, end := context.WithCancel(ctx)
	defer end()
	woken := make(chan struct{})
	go func() { // it ends with idle
		if wake && s.inbox.Wait(idle) == nil {
			close(woken)
		}
	}()
	select {
	case prompt, ok = <-typed:
		return strings.TrimSpace(prompt), ok
	case <-woken:
		return "", true
	case <-s.interrupts: // between two turns
	case <-ctx.Done():
	}
	return "", false
}

// lines returns the lines that are typed, until the input or ctx ends. If no more lines
// come, the goroutine that reads stays until the program ends.
func lines(ctx context.Context, in io.Reader) <-chan string {
	typed := make(chan string)
	go func() {
		defer close(typed)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case typed <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return typed
}
