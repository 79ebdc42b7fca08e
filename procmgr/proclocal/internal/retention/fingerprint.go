package retention

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/toolproc/toolproc/procmgr"
)

// A Fingerprint tells whether two requests are for the same command.
type Fingerprint [sha256.Size]byte

// FingerprintOf returns that of a request. The variables of the W3C trace context are
// no part of it: they tell who asks, which is another span for each time.
func FingerprintOf(req procmgr.StartRequest) Fingerprint {
	h := sha256.New()
	add := func(s string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	add(req.Command)
	add(req.WorkDir)
	for _, name := range slices.Sorted(maps.Keys(req.Env)) {
		if name == "TRACEPARENT" || name == "TRACESTATE" {
			continue
		}
		add(name)
		add(req.Env[name])
	}
	if req.Stdin != procmgr.StdinEmpty || req.Size != (procmgr.Size{}) {
		add("") // no variable has this name
		add(string(req.Stdin))
		add(strconv.Itoa(req.Size.Cols))
		add(strconv.Itoa(req.Size.Rows))
	}
	return Fingerprint(h.Sum(nil))
}
