package proclocal

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
)

// maxInputKeys is how many keys a process remembers.
const maxInputKeys = 64

// A typed is a request that was written, or that is being written.
type typed struct {
	key  string
	hash inputHash
	done chan struct{} // closed when the fields below are set

	before  capture.Mark // the end of the output before the write
	written int          // bytes of Data
	err     error        // why not all was written
	count   int64        // of the output's pieces before the write
	at      time.Time    // after the write
}

// inputKeys remember which requests were written.
type inputKeys struct {
	mu   sync.Mutex // guards last
	last []*typed   // the oldest first
}

// begin returns the typed of a request. mine is true if the caller is to write
// it, and to call end. Otherwise it was written before, and begin has waited for
// that.
func (ks *inputKeys) begin(ctx context.Context, req procmgr.InputRequest) (w *typed, mine bool, err error) {
	hash := hashOf(req)
	for {
		ks.mu.Lock()
		i := -1
		if req.Key != "" {
			i = slices.IndexFunc(ks.last, func(w *typed) bool { return w.key == req.Key })
		}
		if i < 0 {
			w := &typed{key: req.Key, hash: hash, done: make(chan struct{})}
			if req.Key != "" {
				ks.add(w)
			}
			ks.mu.Unlock()
			return w, true, nil
		}
		w := ks.last[i]
		ks.mu.Unlock()
		if w.hash != hash {
			return nil, false, xerrors.Errorf("this key wrote other data, keys, close or secret; take another key: %w", procmgr.ErrConflict)
		}
		select {
		case <-w.done:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		ks.mu.Lock()
		kept := slices.Contains(ks.last, w)
		ks.mu.Unlock()
		if kept {
			return w, false, nil
		}
		// It was refused and has written nothing.
	}
}

// add remembers a request. Those that are being written stay. The caller holds
// mu.
func (ks *inputKeys) add(w *typed) {
	ks.last = append(ks.last, w)
	for i := 0; len(ks.last) > maxInputKeys && i < len(ks.last); i++ {
		select {
		case <-ks.last[i].done:
			ks.last = slices.Delete(ks.last, i, i+1)
			i--
		default:
		}
	}
}

// end notes that a request was written, or forgets one that was refused.
func (ks *inputKeys) end(w *typed, refused bool) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if refused {
		ks.last = slices.DeleteFunc(ks.last, func(other *typed) bool { return other == w })
	}
	close(w.done)
}
