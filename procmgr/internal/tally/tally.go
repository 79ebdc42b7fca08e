// Package tally counts in memory that outlives the program, if another one has the
// file: how much each process has printed, and how far its start has come. To count
// costs a store, and no system call.
package tally

// A Stage is how far the start of a process has come.
type Stage uint32

// The stages. A start that the system cannot hold has no Standing.
const (
	Unknown  Stage = iota // its leader may have begun
	Standing              // its leader stands before its first instruction, and dies there with this program
	Going                 // its leader is about to begin, or has begun
)

const (
	slotSize  = 64
	slotCount = 1 << 16
	fileSize  = slotSize * slotCount
	// spare is how many free slots there are before one of them is used again. So
	// an end that is not in the journal yet, on a full disk, still has its slot.
	spare = 256
)

// missingBits is the part of an output's word that counts what may be missing.
const (
	missingBits = 20
	missingMost = 1<<missingBits - 1
)
