package prochttp

import (
	"encoding/json"
	"net/http"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/lineage"
	"github.com/toolproc/toolproc/procmgr/procfile"
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
	made.instance, line.Save = line.Instance, made.save
	made.restore(line.Answers)
	return made, nil
}

// savedAnswers are those that one handler saves for the next.
type savedAnswers struct {
	Signals json.RawMessage
	Files   json.RawMessage `json:",omitempty"`
}

func (h *handler) save() []byte {
	saved := savedAnswers{Signals: h.signals.save()}
	if local, ok := h.opts.Files.(*procfile.Local); ok {
		saved.Files = local.SaveKeys()
	}
	data, _ := json.Marshal(saved) // both are JSON
	return data
}

// restore takes over answers that were saved, also by a handler that had those to
// signals alone.
func (h *handler) restore(data []byte) {
	var saved savedAnswers
	if json.Unmarshal(data, &saved) != nil {
		saved.Signals = data
	}
	h.signals.restore(saved.Signals)
	if local, ok := h.opts.Files.(*procfile.Local); ok {
		local.RestoreKeys(saved.Files)
	}
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
