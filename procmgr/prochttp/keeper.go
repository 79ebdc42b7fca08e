package prochttp

import (
	"net/http"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/lineage"
)

// NewKeeperHandler is [NewHandler] for package prockeep. A request may bring the
// environment and the directory from which its command starts: its caller decides over
// every variable of the command, which only a keeper's own user may. The handler goes
// on where another one of the line has ended.
func NewKeeperHandler(h baseenv.Host, opts *HandlerOptions, line *lineage.Line) (http.Handler, error) {
	made, err := newHandler(h, opts)
	if err != nil {
		return nil, xerrors.Errorf("prochttp: new handler: %w", err)
	}
	made.keeper = h
	if line.Instance == "" {
		line.Instance = made.instance
	}
	made.instance, line.Save = line.Instance, made.signals.save
	made.signals.restore(line.Answers)
	return made, nil
}

// OfKeeper returns the Client as package prockeep uses it: commands start from base. If
// nobody listens at the URL, a call gives up at once, because only its caller starts a
// server there. If base is nil, commands start from the server's own environment.
func (c *Client) OfKeeper(base *baseenv.Base) procmgr.Host {
	return ofKeeper{&manager{c: c, base: base, alone: true}}
}

type ofKeeper struct{ *manager }

func (k ofKeeper) Chat(id string) procmgr.Manager {
	m := k.c.chat(id)
	m.base, m.alone = k.base, k.alone
	return m
}
