package prochttp

import (
	"context"
	"net/http"

	"github.com/toolproc/toolproc/procmgr"
)

var (
	_ procmgr.ListManager = (*Client)(nil)
	_ procmgr.ListManager = (*manager)(nil)
)

// List implements [procmgr.Manager]. It has the processes of every chat.
func (c *Client) List(ctx context.Context) ([]procmgr.Process, error) { return c.all.List(ctx) }

// ListSome implements [procmgr.ListManager]. A handler of an earlier version
// sends all processes, and the client picks those that are wanted.
func (c *Client) ListSome(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return c.all.ListSome(ctx, req)
}

func (m *manager) List(ctx context.Context) ([]procmgr.Process, error) {
	body, err := m.list(ctx, "")
	return body.Processes, wrap("list", "", err)
}

func (m *manager) ListSome(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	body, err := m.list(ctx, listQuery(req).encode())
	switch {
	case err != nil && body.Total == nil:
		return procmgr.ListPage{}, wrap("list", "", err)
	case body.Total == nil:
		return procmgr.ListSome(ctx, listed{all: body.Processes}, req)
	}
	return procmgr.ListPage{Processes: body.Processes, Total: *body.Total, Live: body.Live}, wrap("list", "", err)
}

// A listed is a Manager that only lists what an earlier handler has sent.
type listed struct {
	procmgr.Manager
	all []procmgr.Process
}

func (l listed) List(context.Context) ([]procmgr.Process, error) { return l.all, nil }

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
