//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal

import (
	"encoding/binary"
	"encoding/json"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/asking"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/input"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// A savedLocal is a whole Local for another program. In the Data of a
// carry.State it stands as JSON behind its length, and the windows of all records
// stand behind that.
//
// Another build of this program may read it: a field that is added has a zero value
// that means the same as its absence, and carry.Version grows if anything else
// changes.
type savedLocal struct {
	Seq     uint64                     `json:"seq"`
	Local   localMemo                  `json:"local"`
	Records []savedRecord              `json:"records"` // in the order of the lists
	Exits   []int                      `json:"exits"`   // indexes of Records, in the order of their exits
	Past    []retention.SavedTombstone `json:"past"`    // the oldest first
	Events  retention.SavedEvents      `json:"events"`
}

type savedRecord struct {
	Seq    uint64        `json:"seq"`
	ID     string        `json:"id"`
	Chat   string        `json:"chat,omitempty"`
	Memo   memo          `json:"memo"`
	Tree   osproc.Frozen `json:"tree"`
	Ended  bool          `json:"ended,omitempty"`  // its tree needs not be followed
	Buried bool          `json:"buried,omitempty"` // it is a tombstone, and a search has still to look for members

	Unswept bool `json:"unswept,omitempty"`
	Looked  bool `json:"looked,omitempty"` // for names in files

	Asks *asking.Begun `json:"asks,omitempty"` // nil if it does not wait for input, as far as was seen

	Stream capture.State `json:"stream"`
	Window int           `json:"window"` // its length
	Inlet  *input.State  `json:"inlet,omitempty"`
}

// errState is the error for a state that no program has saved.
var errState = xerrors.Errorf("the state is damaged: %w", procmgr.ErrInvalid)

// encode returns the Data of a state.
func (s *savedLocal) encode() ([]byte, error) {
	size := 0
	for i := range s.Records {
		r := &s.Records[i]
		r.Window = len(r.Stream.Window)
		size += r.Window
	}
	head, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, 8+len(head)+size)
	data = binary.LittleEndian.AppendUint64(data, uint64(len(head)))
	data = append(data, head...)
	for i := range s.Records {
		data = append(data, s.Records[i].Stream.Window...)
	}
	return data, nil
}

// decodeState reads what encode has written.
func decodeState(data []byte) (*savedLocal, error) {
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return nil, errState
	}
	n := binary.LittleEndian.Uint64(data)
	head, windows := data[8:8+n], data[8+n:]
	s := new(savedLocal)
	if err := json.Unmarshal(head, s); err != nil {
		return nil, errState
	}
	for i := range s.Records {
		r := &s.Records[i]
		if r.Window < 0 || r.Window > len(windows) {
			return nil, errState
		}
		r.Stream.Window, windows = windows[:r.Window], windows[r.Window:]
	}
	for _, i := range s.Exits {
		if i < 0 || i >= len(s.Records) {
			return nil, errState
		}
	}
	if len(windows) > 0 {
		return nil, errState
	}
	return s, nil
}
