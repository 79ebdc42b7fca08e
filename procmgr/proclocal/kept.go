package proclocal

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/tally"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/input"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// A memo is what a Keep is told of a process: as much as another program needs
// to go on with it.
type memo struct {
	Process    procmgr.Process       `json:"process"`
	Print      retention.Fingerprint `json:"print,omitzero"`
	Size       procmgr.Size          `json:"size,omitzero"`
	Lineage    osproc.Lineage        `json:"lineage,omitzero"`
	Progress   osproc.Progress       `json:"progress,omitzero"`
	Asked      procmgr.Cause         `json:"asked,omitempty"`
	Lacks      []string              `json:"lacks,omitempty"`
	Withheld   []string              `json:"withheld,omitempty"`
	PassedOver string                `json:"passed_over,omitempty"`
	Notify     string                `json:"notify,omitempty"`
	Notified   bool                  `json:"notified,omitempty"`
	Log        *capture.LogMemo      `json:"log,omitempty"`
	Total      int64                 `json:"total,omitempty"` // bytes of output, once it has exited
	Lost       int64                 `json:"lost,omitempty"`  // as capture.State.Lost
	Revived    bool                  `json:"revived,omitempty"`
	NoInput    bool                  `json:"no_input,omitempty"` // a request has closed its stdin
	Inputs     []input.Memo          `json:"inputs,omitempty"`
	Spent      bool                  `json:"spent,omitempty"` // an ID that a stop has spent, and nothing else
	// Doubtful says that the program died in the midst of the start, and that nobody
	// has seen the command begin.
	Doubtful bool `json:"doubtful,omitempty"`
}

// A kept is the part of a record for a Keep. A nil one does nothing. The Keep is
// called with mu held: what it is told of one process comes in its order.
type kept struct {
	keep  carry.Keep
	key   carry.Key
	tally *tally.Slot // nil until the process is about to start

	mu   sync.Mutex // guards memo
	memo memo
	told bool // Starting was called
}

// note changes the memo before the Keep hears of it.
func (k *kept) note(change func(m *memo)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.memo)
}

// record returns the record for the Keep. The caller holds mu.
func (k *kept) record() []byte {
	data, _ := json.Marshal(&k.memo) // a memo has nothing that cannot be marshalled
	return data
}

// Starting implements osproc.Keeper.
func (k *kept) Starting(b osproc.Birth) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.memo.Lineage = b.Lineage
	k.told = true
	return k.keep.Starting(k.key, k.record(), filesOf(b))
}

func filesOf(b osproc.Birth) []carry.File {
	if b.Terminal {
		return []carry.File{{Role: carry.Terminal, FD: b.Output}}
	}
	files := []carry.File{{Role: carry.Output, FD: b.Output}}
	if b.Input >= 0 {
		files = append(files, carry.File{Role: carry.Input, FD: b.Input})
	}
	return files
}

// Stands implements osproc.Keeper.
func (k *kept) Stands(l osproc.Lineage) { k.tally.Set(tally.Standing, l.PID, l.Start) }

// Started implements osproc.Keeper.
func (k *kept) Started(b osproc.Birth) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.memo.Lineage = b.Lineage
	k.memo.Process.PID = b.PID
	k.keep.Started(k.key, leaderOf(&k.memo), k.record())
}

// Goes implements osproc.Keeper.
func (k *kept) Goes(l osproc.Lineage) { k.tally.Set(tally.Going, l.PID, l.Start) }

// leaderOf returns the leader of a process.
func leaderOf(m *memo) carry.Leader { return carry.Leader{PID: m.Lineage.PID, Start: m.Lineage.Start} }

// foundOut tells the Keep what a Recover has found out about a process of which it
// knew the plan alone.
func (k *kept) foundOut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.memo.Progress.Exit != nil {
		k.keep.Turned(k.key, k.record())
		return
	}
	k.keep.Started(k.key, leaderOf(&k.memo), k.record())
}

// Exited implements osproc.Keeper.
func (k *kept) Exited(end osproc.Exit, at time.Time) {
	k.turned(func(m *memo) { m.Progress.Exit, m.Progress.At = &end, at })
}

// turned changes the memo and tells the Keep. The caller holds no lock of the
// Local or of the record.
func (k *kept) turned(change func(m *memo)) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.memo)
	k.keep.Turned(k.key, k.record())
}

// notStarted tells the Keep that nothing has run.
func (k *kept) notStarted() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.told {
		k.keep.NotStarted(k.key)
	}
	k.tally.Free()
}

// dropped tells the Keep that files are closed: all, if there are no roles. Then
// nothing is counted any more.
func (k *kept) dropped(roles ...carry.Role) {
	if k == nil {
		return
	}
	k.keep.Dropped(k.key, roles...)
	if len(roles) == 0 {
		k.tally.Free()
	}
}

// look returns a copy of the memo.
func (k *kept) look() memo {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.memo
}
