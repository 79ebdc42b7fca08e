package prochttp

import (
	"context"
	"net/http"

	"github.com/toolproc/toolproc/procmgr"
)

// List implements [procmgr.Manager]. It has the processes of every chat.
func (c *Client) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return c.all.List(ctx, req)
}

func (m *manager) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	body, err := m.list(ctx, listQuery(req).encode())
	return procmgr.ListPage(body), wrap("list", "", err)
}

func (m *manager) list(ctx context.Context, query string) (body listBody, err error) {
	if err := m.check(); err != nil {
		return body, err
	}
	answer, err := m.c.call(ctx, &call{manager: m, method: http.MethodGet, path: pathList, query: query, into: &body})
	switch {
	case err != nil && answer != nil && answer.failure.List != nil:
		body = *answer.failure.List // some machines are missing, and err names them
	case err != nil:
		return listBody{}, err
	case answer.unread != nil:
		return listBody{}, answer.unread
	}
	for _, p := range body.Processes {
		if m.isChat && p.ChatID != m.chat {
			return listBody{}, errMixedUp
		}
	}
	return body, err
}
