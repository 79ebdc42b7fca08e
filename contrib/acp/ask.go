package main

import (
	"context"
	"errors"

	"github.com/coder/acp-go-sdk"

	"github.com/toolproc/toolproc/contrib/shellfacts/policy"
)

// ask is a policy.Asker: it asks the user of the editor. An answer of always is for
// this session.
func (s *session) ask(ctx context.Context, question string, always bool) (policy.Answer, error) {
	now := s.now
	answer, err := s.request(ctx, now, question, always)
	if answer != policy.No {
		s.update(ctx, acp.SessionUpdate{ToolCallUpdate: &acp.SessionToolCallUpdate{ToolCallId: now.id, Status: acp.Ptr(acp.ToolCallStatusInProgress), Content: now.content("")}})
	}
	return answer, err
}

// request makes the request for a permission.
func (s *session) request(ctx context.Context, now *card, question string, always bool) (policy.Answer, error) {
	options := []acp.PermissionOption{{Kind: acp.PermissionOptionKindAllowOnce, Name: "Allow once", OptionId: "once"}}
	if always {
		options = append(options, acp.PermissionOption{Kind: acp.PermissionOptionKindAllowAlways, Name: "Allow always", OptionId: "always"})
	}
	options = append(options, acp.PermissionOption{Kind: acp.PermissionOptionKindRejectOnce, Name: "Reject", OptionId: "no"})
	res, err := s.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: s.id,
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: now.id,
			Title:      &now.title,
			Kind:       acp.Ptr(acp.ToolKindExecute),
			Status:     acp.Ptr(acp.ToolCallStatusPending),
			Content:    []acp.ToolCallContent{acp.ToolContent(acp.TextBlock(fenced(question)))},
		},
		Options: options,
	})
	switch {
	case err != nil:
		return policy.No, err
	case res.Outcome.Cancelled != nil:
		s.cancel() // the answer may come before the session/cancel that it belongs to
		return policy.No, errors.New("the user has canceled the turn")
	case res.Outcome.Selected == nil:
		return policy.No, nil
	}
	switch res.Outcome.Selected.OptionId {
	case "once":
		return policy.Once, nil
	case "always":
		return policy.Always, nil
	}
	return policy.No, nil
}
