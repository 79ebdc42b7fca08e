//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/screen"
)

// A savedLocal is a whole Local for another program. In the Data of a
// carry.State it stands as JSON behind its length, and the windows of all records
// stand behind that.
//
// Another build of this program may read it: a field that is added has a zero value
// that means the same as its absence, and carry.Version grows if anything else
// changes.
type savedLocal struct {
	Seq     uint64           `json:"seq"`
	Local   localMemo        `json:"local"`
	Records []savedRecord    `json:"records"` // in the order of the lists
	Exits   []int            `json:"exits"`   // indexes of Records, in the order of their exits
	Past    []savedTombstone `json:"past"`    // the oldest first
	Events  savedEvents      `json:"events"`
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

	Stream capture.State `json:"stream"`
	Window int           `json:"window"` // its length
	Inlet  *savedInlet   `json:"inlet,omitempty"`
}

type savedInlet struct {
	Owed    string          `json:"owed,omitempty"`
	Count   int64           `json:"count,omitempty"`
	Last    time.Time       `json:"last,omitzero"`
	Replies []byte          `json:"replies,omitempty"`
	Screen  *screen.State   `json:"screen,omitempty"`
	Shown   *procmgr.Screen `json:"shown,omitempty"` // at last
}

type savedTombstone struct {
	Seq        uint64          `json:"seq"`
	ID         string          `json:"id"`
	Chat       string          `json:"chat,omitempty"`
	Print      []byte          `json:"print,omitempty"`
	Spent      bool            `json:"spent,omitempty"`
	Unknown    bool            `json:"unknown,omitempty"`
	Process    procmgr.Process `json:"process,omitzero"`
	Total      int64           `json:"total,omitempty"`
	Lost       int64           `json:"lost,omitempty"`
	Withheld   []string        `json:"withheld,omitempty"`
	PassedOver string          `json:"passed_over,omitempty"`
}

type savedEvents struct {
	Instance    string            `json:"instance"`
	Newest      uint64            `json:"newest"`
	At          time.Time         `json:"at,omitzero"`
	Entries     []savedEntry      `json:"entries"`
	Dropped     map[string]uint64 `json:"dropped,omitempty"`
	DroppedAny  uint64            `json:"dropped_any,omitempty"`
	DroppedLast uint64            `json:"dropped_last,omitempty"`
}

type savedEntry struct {
	Number uint64        `json:"number"`
	Event  procmgr.Event `json:"event"`
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

// save returns the event log for another program.
func (e *eventLog) save() savedEvents {
	s := savedEvents{Instance: e.instance, Newest: e.newest, At: e.at, Dropped: e.dropped, DroppedAny: e.droppedAny, DroppedLast: e.droppedLast}
	for _, it := range e.order {
		if !it.dropped {
			s.Entries = append(s.Entries, savedEntry{it.number, it.event})
		}
	}
	return s
}

// resume makes an event log that has had no event go on where another one was.
func (e *eventLog) resume(s savedEvents) {
	e.instance = s.Instance
	for _, saved := range s.Entries {
		it := &entry{number: saved.Number, event: saved.Event}
		e.order = append(e.order, it)
		e.byChat.add(saved.Event.Process.ChatID, it)
	}
	e.newest, e.at, e.droppedAny, e.droppedLast = s.Newest, s.At, s.DroppedAny, s.DroppedLast
	for chat, number := range s.Dropped {
		e.dropped[chat] = number
	}
}

// save returns the tombstones for another program.
func (ts *tombstones) save() (all []savedTombstone) {
	for chat, t := range ts.all.inOrder() {
		all = append(all, savedTombstone{
			Seq: t.seq, ID: t.id, Chat: chat, Print: t.key[:], Spent: t.spent, Unknown: t.unknown,
			Process: t.process, Total: t.total, Lost: t.lost, Withheld: t.withheld, PassedOver: t.passedOver,
		})
	}
	return all
}

func (s savedTombstone) tombstone() *tombstone {
	t := &tombstone{
		seq: s.Seq, id: s.ID, spent: s.Spent, unknown: s.Unknown,
		process: s.Process, total: s.Total, lost: s.Lost, withheld: s.Withheld, passedOver: s.PassedOver,
	}
	copy(t.key[:], s.Print)
	return t
}
