package input

import (
	"slices"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/screen"
)

// A Memo is what another program needs to know of a request.
type Memo struct {
	Key   string `json:"key"`
	Hash  []byte `json:"hash"`
	Begun bool   `json:"begun,omitempty"` // nothing else is known yet
	capture.Mark
	Written int       `json:"written,omitempty"`
	Err     string    `json:"err,omitempty"`
	Count   int64     `json:"count,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// errWritten is the error of a request of which nobody knows how much was
// written.
var errWritten = xerrors.Errorf("the program that wrote it has died meanwhile; look at the output: %w", procmgr.ErrUnknown)

// knownErrors are the errors that a request may have, besides those of the system.
var knownErrors = []error{errKeys, errFull, osproc.ErrStdinClosed, errWritten}

func (w *Written) memo() Memo {
	m := Memo{Key: w.key, Hash: w.hash[:], Mark: w.Before, Written: w.N, Count: w.count, At: w.at}
	if w.Err != nil {
		m.Err = w.Err.Error()
	}
	return m
}

// request returns what the memo was made of.
func (m Memo) request() *Written {
	w := &Written{key: m.Key, Before: m.Mark, N: m.Written, count: m.Count, at: m.At, done: make(chan struct{})}
	copy(w.hash[:], m.Hash)
	if m.Begun {
		w.Err = errWritten
	}
	if m.Err != "" {
		w.Err = xerrors.New(m.Err)
		for _, err := range knownErrors {
			if err.Error() == m.Err {
				w.Err = err
			}
		}
	}
	close(w.done)
	return w
}

// Begun returns the memos of a process with one more request, which is about to be
// written: if this program dies before Done, nobody knows how much of it was.
func (w *Written) Begun(all []Memo) []Memo {
	if w.key == "" {
		return all
	}
	all = append(slices.Clone(all), Memo{Key: w.key, Hash: w.hash[:], Begun: true})
	return all[max(0, len(all)-maxKeys):]
}

// Done returns the memos when the request was written, or was refused.
func (w *Written) Done(all []Memo, refused bool) []Memo {
	i := slices.IndexFunc(all, func(one Memo) bool { return one.Key == w.key })
	if w.key == "" || i < 0 {
		return all
	}
	all = slices.Clone(all)
	if refused {
		return slices.Delete(all, i, i+1)
	}
	all[i] = w.memo()
	return all
}

// HasKey reports whether the request has a key.
func (w *Written) HasKey() bool { return w.key != "" }

// A State is an Inlet for another program.
type State struct {
	Owed    string          `json:"owed,omitempty"`
	Count   int64           `json:"count,omitempty"`
	Last    time.Time       `json:"last,omitzero"`
	Replies []byte          `json:"replies,omitempty"`
	Screen  *screen.State   `json:"screen,omitempty"`
	Shown   *procmgr.Screen `json:"shown,omitempty"` // at last
}

// Save returns the Inlet for another program, the requests that were written, and
// whether one of them has closed the pipe. Nothing changes the Inlet any more.
func (in *Inlet) Save() (s *State, memos []Memo, closed bool) {
	s = &State{Owed: in.owed}
	in.mu.Lock()
	defer in.mu.Unlock()
	s.Replies, s.Shown = in.replies, in.last
	if in.screen != nil {
		drawn := in.screen.Save()
		s.Screen = &drawn
	}
	in.print.mu.Lock()
	s.Count, s.Last = in.print.count, in.print.last
	in.print.mu.Unlock()
	in.keys.mu.Lock()
	defer in.keys.mu.Unlock()
	for _, w := range in.keys.last {
		memos = append(memos, w.memo())
	}
	return s, memos, in.closed
}

// Resume makes an Inlet of New go on where another program's was. s is nil if only the
// memos are known.
func (in *Inlet) Resume(s *State, memos []Memo, closed bool) {
	in.closed = closed
	for _, m := range memos {
		in.keys.last = append(in.keys.last, m.request())
	}
	if s == nil {
		return
	}
	in.owed, in.replies, in.last = s.Owed, s.Replies, s.Shown
	in.print.count, in.print.last = s.Count, s.Last
	in.screen = nil
	if s.Screen != nil {
		in.screen = screen.Resume(*s.Screen)
	}
}
