package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"charm.land/fantasy"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/interrupt"
	"github.com/toolproc/toolproc/procmgr"
)

const system = "You work for a developer, in a directory of theirs, by running commands. " +
	"Do what you are asked for, see that it works, and report in a few sentences."

// A session is a conversation with an agent. It does one turn at a time.
type session struct {
	agent fantasy.Agent
	stop  *interrupt.Handler
	show  *screen
	// inbox has the ends of background processes that no result has shown.
	inbox   *toolset.Inbox
	history []fantasy.Message
	already string          // what an earlier run has left running; "" once it is in the history
	told    toolset.Notices // the last ones in the history
	failed  bool            // the last turn
	cursor  cursor          // of the inbox
	// maxRetries is how often fantasy asks again. nil means fantasy's default.
	maxRetries *int
}

// newSession returns a session whose commands run on a manager. It goes on from a
// cursor.
func newSession(model fantasy.LanguageModel, manager procmgr.Manager, from cursor, stop *interrupt.Handler, show *screen, opts *toolset.Options, maxTokens int64, maxSteps int) (*session, error) {
	opts.ProcessID = processID
	var tools []fantasy.AgentTool
	w := &watcher{manager: manager, stop: stop, show: show}
	opts.NoticesInInbox = true
	set, err := toolset.New(toolset.Static(manager), opts)
	if err != nil {
		return nil, err
	}
	for _, tool := range chattool.Tools(set) {
		tools = append(tools, watchedTool{AgentTool: tool, watcher: w})
	}
	s := &session{
		stop:   stop,
		show:   show,
		inbox:  set.Inbox(context.Background(), from.read()),
		cursor: from,
	}
	s.cursor.write(s.inbox) // what a run leaves that is killed at once is told of, too
	s.agent = chattool.NewAgent(model, tools,
		fantasy.WithSystemPrompt(system),
		fantasy.WithMaxOutputTokens(maxTokens),
		fantasy.WithStopConditions(fantasy.StepCountIs(maxSteps)),
		fantasy.WithPrepareStep(chattool.PrepareStep(s.inbox, s.note)),
	)
	return s, nil
}

// turn lets the model work until an answer has no call. Without a prompt it
// goes on where the last turn broke off.
//
// If a provider fails, fantasy asks again by itself, before it runs any call of
// that answer. If fantasy gives up, it drops the turn and with it the results
// of the commands that have run. But the history keeps these results step by
// step, so no command runs again.
func (s *session) turn(ctx context.Context, prompt string) error {
	if prompt != "" {
		s.history = append(s.history, fantasy.NewUserMessage(prompt))
	}
	if last := len(s.history) - 1; last < 0 || s.history[last].Role == fantasy.MessageRoleAssistant {
		return nil // there is nothing to go on with
	}
	return s.work(ctx)
}

// work does a turn with the history as it is.
func (s *session) work(ctx context.Context) error {
	if s.already != "" {
		s.history = slices.Insert(s.history, 0, fantasy.NewUserMessage(s.already))
		s.already = ""
	}
	result, err := s.agent.Stream(ctx, fantasy.AgentStreamCall{
		Messages:    s.history,
		MaxRetries:  s.maxRetries,
		OnStepStart: func(int) error { s.stop.Step(); return nil },
		OnTextDelta: func(_, text string) error { s.show.text(text); return nil },
		OnTextEnd:   func(string) error { s.show.endText(); return nil },
		OnToolCall: func(call fantasy.ToolCallContent) error {
			if call.Invalid { // the call reaches no tool
				s.show.note("the call of %s was refused: %q", word(call.ToolName), fmt.Sprint(call.ValidationError))
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
	if ctx.Err() != nil {
		return xerrors.Errorf("stopped before the end: %w", ctx.Err())
	}
	if err != nil {
		return err
	}
	// What the last step of a turn has told is acknowledged here, or the inbox
	// would wake the model with it.
	if s.told.Text != "" {
		s.inbox.Ack(s.told)
		s.told = toolset.Notices{}
		s.cursor.write(s.inbox)
	}
	switch result.Steps[len(result.Steps)-1].FinishReason {
	case fantasy.FinishReasonLength:
		s.show.note("The answer was cut at -max-tokens.")
	case fantasy.FinishReasonToolCalls:
		s.show.note("Paused after -max-steps: Enter goes on.")
	}
	return nil
}
