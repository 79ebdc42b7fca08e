package prockeep

import (
	"encoding/json"
	"sync/atomic"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// nameSandbox is the field of proclocal.Options that only a keeper has.
const nameSandbox = "Sandbox"

// makers make a sandbox from its JSON, see Main.
type makers []func(json.RawMessage) (proclocal.Sandbox, error)

// makes is set once Main has been called with a function that makes a sandbox, and never
// changes back.
var makes atomic.Bool

// passSandbox returns the JSON by which a keeper makes the sandbox.
func passSandbox(o Options) (json.RawMessage, error) {
	told, ok := o.Local.Sandbox.(json.Marshaler)
	if !ok {
		return nil, xerrors.Errorf("Options.Local.Sandbox has no method MarshalJSON, so the keeper cannot make one like it: %w", procmgr.ErrInvalid)
	}
	if o.Path == "" && !makes.Load() {
		return nil, errNoMaker
	}
	data, err := told.MarshalJSON()
	if err != nil {
		return nil, xerrors.Errorf("Options.Local.Sandbox cannot be told to the keeper (%v): %w", err, procmgr.ErrInvalid)
	}
	return data, nil
}

var errNoMaker = xerrors.Errorf("Options.Local.Sandbox is set, and the keeper's program has called prockeep.Main without a function that makes a sandbox: %w", procmgr.ErrInvalid)

// check returns an error if nothing makes the sandbox of the options.
func (m makers) check(p passed) error {
	if _, set := p.Local[nameSandbox]; set && len(m) == 0 {
		return errNoMaker
	}
	return nil
}

// of returns the sandbox of the options, or nil if they have none.
func (m makers) of(p passed) (proclocal.Sandbox, error) {
	data, set := p.Local[nameSandbox]
	if !set {
		return nil, nil
	}
	err := m.check(p)
	for _, maker := range m {
		var box proclocal.Sandbox
		if box, err = maker(data); err == nil && box != nil {
			return box, nil
		}
	}
	if err == nil {
		err = xerrors.Errorf("prockeep.Main has a function that makes none: %w", procmgr.ErrInvalid)
	}
	return nil, xerrors.Errorf("the keeper cannot make its sandbox: %w", err)
}
