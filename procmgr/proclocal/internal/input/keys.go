package input

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
)

// maxKeys is how many keys a process remembers.
const maxKeys = 64

// Written is a request that was written, or that is being written.
type Written struct {
	key  string
	hash hash
	done chan struct{} // closed when the fields below are set

	Before capture.Mark // the end of the output before the write
	N      int          // bytes of Data
	Err    error        // why not all was written
	Closed bool         // it has closed the pipe
	count  int64        // of the output's pieces before the write
	at     time.Time    // after the write
}

// keys remember which requests were written.
type keys struct {
	mu   sync.Mutex // guards last
	last []*Written // the oldest first
}

// Begin returns what is known of a request. mine is true if the caller is to write it,
// and to call Finish. Otherwise it was written before, and Begin has waited for that.
func (in *Inlet) Begin(ctx context.Context, req procmgr.InputRequest) (w *Written, mine bool, err error) {
	return in.keys.begin(ctx, req)
}

// Finish notes that a request was written, or forgets one that was refused.
func (in *Inlet) Finish(w *Written, refused bool) { in.keys.end(w, refused) }

func (ks *keys) begin(ctx context.Context, req procmgr.InputRequest) (w *Written, mine bool, err error) {
	h := hashOf(req)
	for {
		ks.mu.Lock()
		i := -1
		if req.IdempotencyKey != "" {
			i = slices.IndexFunc(ks.last, func(w *Written) bool { return w.key == req.IdempotencyKey })
		}
		if i < 0 {
			w := &Written{key: req.IdempotencyKey, hash: h, done: make(chan struct{})}
			if req.IdempotencyKey != "" {
				ks.add(w)
			}
			ks.mu.Unlock()
			return w, true, nil
		}
		w := ks.last[i]
		ks.mu.Unlock()
		if w.hash != h {
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
func (ks *keys) add(w *Written) {
	ks.last = append(ks.last, w)
	for i := 0; len(ks.last) > maxKeys && i < len(ks.last); i++ {
		select {
		case <-ks.last[i].done:
			ks.last = slices.Delete(ks.last, i, i+1)
			i--
		default:
		}
	}
}

func (ks *keys) end(w *Written, refused bool) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if refused {
		ks.last = slices.DeleteFunc(ks.last, func(other *Written) bool { return other == w })
	}
	close(w.done)
}

// A hash tells whether two requests write the same.
type hash [sha256.Size]byte

func hashOf(req procmgr.InputRequest) hash {
	h := sha256.New()
	add := func(p []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	flags := []byte{0, 0}
	if req.Close {
		flags[0] = 1
	}
	if req.Secret {
		flags[1] = 1
	}
	add(flags)
	add(req.Data)
	for _, k := range req.Keys {
		add([]byte(k))
	}
	return hash(h.Sum(nil))
}
