package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts/policy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// system is the first message of each conversation.
const system = "You work for a developer in an editor, in the directory of their project, by running commands. " +
	"Do what you are asked for, see that it works, and report in a few sentences."

const (
	maxAnswers = 100         // answers of the model to one prompt
	stopGrace  = time.Second // between terminate and kill when a session ends
)

// A session is one conversation, and the chat in which its commands run.
type session struct {
	id      acp.SessionId
	conn    *acp.AgentSideConnection
	model   endpoint
	local   *proclocal.Local // of this session alone, for its directory and its end
	manager procmgr.Manager
	tools   *toolset.Set

	mu       sync.Mutex      // guards the three below
	closed   bool            // no other turn runs
	turns    context.Context // ends when the turns that have begun are canceled
	endTurns context.CancelFunc

	turn     chan struct{} // holds an element during a turn, to which the fields below belong
	messages []any         // the conversation
	now      *card         // the call that is carried out
}

func newSession(id acp.SessionId, dir string, model endpoint, conn *acp.AgentSideConnection) (*session, error) {
	local, err := proclocal.New(&proclocal.Options{WorkDir: dir, StopGrace: stopGrace})
	if err != nil {
		return nil, err
	}
	s := &session{id: id, conn: conn, model: model, local: local, manager: local.Chat(string(id)), turn: make(chan struct{}, 1)}
	s.turns, s.endTurns = context.WithCancel(context.Background())
	list := policy.NewAllowList(policy.ReadOnly(), s.ask)
	list.WorkDir = dir
	s.tools, err = toolset.New(toolset.Static(s.manager), &toolset.Options{
		Approve: list.Approve,
		// The ID is known before the command starts, so that a card can follow it.
		ProcessID: func(_ context.Context, c toolset.Call) string { return c.ID },
	})
	if err != nil {
		return nil, errors.Join(err, local.Close())
	}
	s.messages = []any{message{Role: "system", Content: system}}
	return s, nil
}

// cancel ends the turns that have begun, with their commands in the foreground.
func (s *session) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTurns()
	if !s.closed {
		s.turns, s.endTurns = context.WithCancel(context.Background())
	}
}

// close ends the session and its processes.
func (s *session) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	return s.local.Close()
}

// prompt lets the model work on a prompt.
func (s *session) prompt(ctx context.Context, blocks []acp.ContentBlock) (acp.StopReason, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	turns := s.turns
	s.mu.Unlock()
	defer context.AfterFunc(turns, cancel)()
	select {
	case s.turn <- struct{}{}: // the SDK cancels a turn that another prompt interrupts
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return acp.StopReasonCancelled, nil
	}
	reason, err := s.work(ctx, text(blocks))
	if ctx.Err() != nil {
		return acp.StopReasonCancelled, nil
	}
	return reason, err
}

// work asks the model, carries out its calls and asks again, until an answer has
// no call. After any end, the conversation is one that can go on.
func (s *session) work(ctx context.Context, prompt string) (acp.StopReason, error) {
	before := len(s.messages)
	s.messages = append(s.messages, message{Role: "user", Content: prompt})
	for range maxAnswers {
		a, err := s.model.ask(ctx, s.messages, s.tools.Definitions())
		if err != nil {
			return "", err
		}
		if a.words != "" {
			s.update(ctx, acp.UpdateAgentMessageText(a.words))
		}
		switch a.finish {
		case "content_filter": // the editor forgets the prompt too
			s.messages = s.messages[:before]
			return acp.StopReasonRefusal, nil
		case "length": // half of a command is another command
			s.messages = append(s.messages, message{Role: "assistant", Content: a.words})
			return acp.StopReasonMaxTokens, nil
		}
		s.messages = append(s.messages, a.raw)
		if len(a.calls) == 0 {
			return acp.StopReasonEndTurn, nil
		}
		for _, c := range a.calls {
			result := s.carryOut(ctx, toolset.Call{ID: procmgr.NewID(), Name: c.Function.Name, Arguments: c.Function.Arguments})
			s.messages = append(s.messages, message{Role: "tool", ToolCallID: c.ID, Content: result})
		}
	}
	return acp.StopReasonMaxTurnRequests, nil
}

// carryOut carries out a call and returns what the model reads. If ctx has ended,
// that says so.
func (s *session) carryOut(ctx context.Context, c toolset.Call) string {
	s.now = s.show(ctx, c)
	res := s.tools.Call(ctx, c)
	s.now.finish(ctx, res)
	return res.Content
}

// update shows something in the editor, also after the end of ctx. If the editor is
// gone, the whole agent ends.
func (s *session) update(ctx context.Context, u acp.SessionUpdate) {
	_ = s.conn.SessionUpdate(context.WithoutCancel(ctx), acp.SessionNotification{SessionId: s.id, Update: u})
}

// text returns a prompt in the form of a chat completion's message.
func text(blocks []acp.ContentBlock) string {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			parts = append(parts, b.Text.Text)
		case b.ResourceLink != nil:
			parts = append(parts, b.ResourceLink.Uri)
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			parts = append(parts, r.Uri+":\n"+fenced(r.Text))
		}
	}
	return strings.Join(parts, "\n")
}
