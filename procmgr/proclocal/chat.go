package proclocal

import (
	"context"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// A chat is the Manager that a Local gives one chat.
type chat struct {
	local *Local
	id    string
	err   error         // why the ID cannot be used: isolation fails closed
	base  *baseenv.Base // what commands start from; nil: this program's own
}

var _ procmgr.Manager = (*chat)(nil)

// Chat implements [procmgr.Host]. The ID of a chat has 1 to 256 bytes of UTF-8 and no
// control character. With any other ID every call is [procmgr.ErrInvalid].
func (l *Local) Chat(id string) procmgr.Manager { return l.chat(id) }

func (l *Local) chat(id string) *chat { return &chat{local: l, id: id, err: check.Chat(id)} }

func (c *chat) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if c.err != nil {
		return procmgr.Output{}, callerr.Wrap("start", req.ID, c.err)
	}
	out, err := c.local.start(ctx, c.id, req, c.base)
	return out, callerr.Wrap("start", req.ID, err)
}

func (c *chat) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if c.err != nil {
		return procmgr.Output{}, callerr.Wrap("output", id, c.err)
	}
	out, err := c.local.output(ctx, c.id, id, req)
	return out, callerr.Wrap("output", id, err)
}

func (c *chat) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if c.err != nil {
		return callerr.Wrap("signal", id, c.err)
	}
	return callerr.Wrap("signal", id, c.local.signal(ctx, c.id, id, sig))
}

func (c *chat) Describe(ctx context.Context) (procmgr.Description, error) {
	if c.err != nil {
		return procmgr.Description{}, callerr.Wrap("describe", "", c.err)
	}
	return c.local.Describe(ctx)
}
