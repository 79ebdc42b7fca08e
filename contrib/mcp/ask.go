package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts/policy"
)

// approve is the policy of -ask. Each session has its own answers.
func approve(ctx context.Context, q toolset.Question) (toolset.Verdict, error) {
	chat, ok := ctx.Value(chatKey{}).(*chat)
	if !ok {
		return toolset.Verdict{}, errors.New("the call belongs to no session")
	}
	return chat.policy.Approve(ctx, q)
}

// versionsThatAsk returns the versions of the protocol in which a server can ask
// while it serves a call. From 2026-07-28 on, it would have to end the call and
// wait for another one.
func versionsThatAsk() []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v >= "2026-07-28" })
}

// elicit asks the user of a session. If the client has announced no elicitation,
// the SDK returns an error, and the call is denied.
func elicit(session *mcp.ServerSession) policy.Asker {
	return func(ctx context.Context, question string, always bool) (policy.Answer, error) {
		choices := []string{"no", "once"}
		if always {
			choices = append(choices, "always")
		}
		schema, err := json.Marshal(map[string]any{
			"type": "object", "required": []string{"allow"},
			"properties": map[string]any{"allow": map[string]any{"type": "string", "enum": choices}},
		})
		if err != nil {
			return policy.No, err
		}
		res, err := session.Elicit(ctx, &mcp.ElicitParams{Message: question, RequestedSchema: json.RawMessage(schema)})
		if err != nil {
			return policy.No, err
		}
		if res.Action != "accept" {
			return policy.No, nil
		}
		switch res.Content["allow"] {
		case "once":
			return policy.Once, nil
		case "always":
			return policy.Always, nil
		}
		return policy.No, nil
	}
}
