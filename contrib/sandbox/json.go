package sandbox

import (
	"encoding/json"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// MarshalJSON returns the policy of the box, for a keeper that makes another one like it.
func (b *Box) MarshalJSON() ([]byte, error) { return json.Marshal(b.policy) }

// FromJSON makes a box like the one whose MarshalJSON has made data. It is a function for
// prockeep.Main:
//
//	prockeep.Main(sandbox.FromJSON)
func FromJSON(data json.RawMessage) (proclocal.Sandbox, error) {
	var p Policy
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, xerrors.Errorf("sandbox: %v: %w", err, procmgr.ErrInvalid)
	}
	b, err := New(p)
	if err != nil {
		return nil, err
	}
	return b, nil
}
