package proclocal

import (
	"slices"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// A memoOfInput is a typed for another program.
type memoOfInput struct {
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

// inputErrors are the errors that a typed may have, besides those of the system.
var inputErrors = []error{errKeys, errFull, osproc.ErrStdinClosed, errWritten}

func (w *typed) memo() memoOfInput {
	m := memoOfInput{Key: w.key, Hash: w.hash[:], Mark: w.before, Written: w.written, Count: w.count, At: w.at}
	if w.err != nil {
		m.Err = w.err.Error()
	}
	return m
}

// typed returns what the memo was made of.
func (m memoOfInput) typed() *typed {
	w := &typed{key: m.Key, before: m.Mark, written: m.Written, count: m.Count, at: m.At, done: make(chan struct{})}
	copy(w.hash[:], m.Hash)
	if m.Begun {
		w.err = errWritten
	}
	if m.Err != "" {
		w.err = xerrors.New(m.Err)
		for _, err := range inputErrors {
			if err.Error() == m.Err {
				w.err = err
			}
		}
	}
	close(w.done)
	return w
}

// begins tells the Keep that a request is about to be written: if this program
// dies before ends, nobody knows how much was.
func (k *kept) begins(w *typed) {
	if k == nil || w.key == "" {
		return
	}
	k.turned(func(m *memo) {
		m.Inputs = append(slices.Clone(m.Inputs), memoOfInput{Key: w.key, Hash: w.hash[:], Begun: true})
		m.Inputs = m.Inputs[max(0, len(m.Inputs)-maxInputKeys):]
	})
}

// ends tells the Keep how much of a request was written, or that it was refused.
func (k *kept) ends(w *typed, refused bool) {
	if k == nil || w.key == "" {
		return
	}
	k.turned(func(m *memo) {
		m.Inputs = slices.Clone(m.Inputs)
		i := slices.IndexFunc(m.Inputs, func(one memoOfInput) bool { return one.Key == w.key })
		switch {
		case i < 0:
		case refused:
			m.Inputs = slices.Delete(m.Inputs, i, i+1)
		default:
			m.Inputs[i] = w.memo()
		}
	})
}
