package proclocal

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/toolproc/toolproc/procmgr"
)

// A fingerprint tells whether two requests are for the same command.
type fingerprint [sha256.Size]byte

func fingerprintOf(req procmgr.StartRequest) fingerprint {
	h := sha256.New()
	add := func(s string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	add(req.Command)
	add(req.WorkDir)
	for _, name := range namesIn(req.Env) {
		add(name)
		add(req.Env[name])
	}
	if req.Stdin != procmgr.StdinEmpty || req.Size != (procmgr.Size{}) {
		add("") // no variable has this name
		add(string(req.Stdin))
		add(strconv.Itoa(req.Size.Cols))
		add(strconv.Itoa(req.Size.Rows))
	}
	return fingerprint(h.Sum(nil))
}

// namesIn returns the names of some variables in a fixed order.
func namesIn(env map[string]string) []string {
	if len(env) == 0 {
		return nil // most commands have none
	}
	return slices.Sorted(maps.Keys(env))
}
