package main

import (
	"context"
	"errors"

	"github.com/coder/acp-go-sdk"

	"github.com/toolproc/toolproc/examples/guard"
)

// ask is a guard.Asker: it asks the user of the editor. An answer of always is for
// this session.
func (s *session) ask(ctx context.Context, question string, always bool) (guard.Answer, error) {
	now := s.now
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
		return guard.No, err
	case res.Outcome.Cancelled != nil:
		s.cancel() // the answer may come before the session/cancel that it belongs to
		return guard.No, errors.New("the user has canceled the turn")
	case res.Outcome.Selected == nil:
		return guard.No, nil
	}
	switch res.Outcome.Selected.OptionId {
	case "once":
		return guard.Once, nil
	case "always":
		return guard.Always, nil
	}
	return guard.No, nil
}
