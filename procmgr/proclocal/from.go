package proclocal

import (
	"context"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
)

// From returns the Host of another program, for package prockeep: commands start from
// that program's environment and directory.
func (l *Local) From(base *baseenv.Base) procmgr.Host { return from{l, base} }

type from struct {
	*Local
	base *baseenv.Base
}

func (f from) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	out, err := f.start(ctx, "", req, f.base)
	return out, callerr.Wrap("start", req.ID, err)
}

func (f from) Chat(id string) procmgr.Manager {
	c := f.chat(id)
	c.base = f.base
	return c
}
