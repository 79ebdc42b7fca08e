package proclocal

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// quietAtLast is how long UntilQuiet waits for the first output.
const quietAtLast = 2 * time.Second

// An inputHash tells whether two requests write the same.
type inputHash [sha256.Size]byte

func hashOf(req procmgr.InputRequest) inputHash {
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
	return inputHash(h.Sum(nil))
}
