package procmgr

import (
	"encoding/binary"
	"os"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// totals has the length of each output in a file in memory. The file outlives this
// program if a Keep has it. So an offset that was told stays valid, although the
// output itself is gone. A nil one has nothing.
type totals struct{ file *os.File }

// A slot of the file has the Seq of a process and its total. Processes whose Seqs
// are that far apart share one.
const (
	totalSlots = 1 << 16
	totalSize  = 16
)

// newTotals returns the totals of a file; without one they are new. They are nil
// if the system has no such files.
func newTotals(file *os.File) *totals {
	if file == nil {
		var err error
		if file, err = osproc.Memory("totals"); err != nil {
			return nil
		}
	}
	return &totals{file}
}

// counter returns what is called with each total of a process, before anybody
// hears of it; nil if nothing is kept.
func (t *totals) counter(seq uint64) func(total int64) {
	if t == nil {
		return nil
	}
	return func(total int64) {
		var slot [totalSize]byte
		binary.LittleEndian.PutUint64(slot[:], seq)
		binary.LittleEndian.PutUint64(slot[totalSize/2:], uint64(total))
		_, _ = t.file.WriteAt(slot[:], int64(seq%totalSlots)*totalSize) // without memory the offsets of a program that crashes are wrong
	}
}

// of returns the last total of a process; 0 if it is not known.
func (t *totals) of(seq uint64) int64 {
	var slot [totalSize]byte
	if t == nil {
		return 0
	}
	if _, err := t.file.ReadAt(slot[:], int64(seq%totalSlots)*totalSize); err != nil || binary.LittleEndian.Uint64(slot[:]) != seq {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(slot[totalSize/2:]))
}

func (t *totals) close() {
	if t != nil {
		_ = t.file.Close() // it is in memory
	}
}
