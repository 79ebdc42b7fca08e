package tally

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Table has a Slot for each process that runs. A nil one has none.
type Table struct {
	file   *os.File
	memory []byte

	mu    sync.Mutex // guards the fields below, and the making and the freeing of slots
	used  int        // the slots from here on were never used
	free  []int      // the one that is free for the longest time comes first
	slots map[uint64]*Slot
	over  bool // it is closed
}

// nobody is in place of the seq of a slot that no process has.
const nobody = ^uint64(0)

// A words is a slot as it lies in memory. Its process has it if seq says so.
type words struct {
	seq    atomic.Uint64
	output atomic.Uint64 // the total above missingBits, and what may be missing
	leader atomic.Uint64 // its Stage in the upper half, and its number
	start  atomic.Uint64 // of the leader
	_      [4]uint64
}

// A Slot counts for one process. A nil one does nothing. One goroutine at a time
// calls Reading, Took and Counted, and one at a time the others.
type Slot struct {
	table *Table
	at    int
	seq   uint64
	words *words
}

// New returns the table of a file, with the slots of another program. If file is
// nil, or if it cannot be used, the table is new. It is nil if the system has no
// memory for it.
func New(file *os.File) *Table {
	if t := mapped(file); t != nil {
		return t
	}
	fd, err := unix.MemfdCreate("tally", unix.MFD_CLOEXEC)
	if err != nil {
		return nil
	}
	file = os.NewFile(uintptr(fd), "tally")
	if err := file.Truncate(fileSize); err != nil {
		_ = file.Close() // it is in memory
		return nil
	}
	return mapped(file)
}

// mapped returns the table of a file, or nil. It takes over the file.
func mapped(file *os.File) *Table {
	if file == nil {
		return nil
	}
	var memory []byte
	info, err := file.Stat()
	if err == nil && info.Size() == fileSize { // a shorter one would end this program at a load
		memory, _ = unix.Mmap(int(file.Fd()), 0, fileSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if memory == nil {
		_ = file.Close() // it is in memory
		return nil
	}
	t := &Table{file: file, memory: memory, slots: make(map[uint64]*Slot)}
	// A read of a process that was given up may still count after Close.
	runtime.AddCleanup(t, func(memory []byte) { _ = unix.Munmap(memory) }, memory)
	// The slots are used in their order, so that the pages after them were never
	// touched, and must not be now.
	for i := range slotCount {
		seq := t.words(i).seq.Load()
		if seq == 0 {
			break
		}
		t.used = i + 1
		if seq == nobody {
			t.free = append(t.free, i)
			continue
		}
		t.slots[seq] = &Slot{t, i, seq, t.words(i)}
	}
	return t
}

func (t *Table) words(at int) *words { return (*words)(unsafe.Pointer(&t.memory[at*slotSize])) }

// File returns the file for another program, or nil. It stays the table's.
func (t *Table) File() *os.File {
	if t == nil {
		return nil
	}
	return t.file
}

// Slot returns the slot of a process that another program has made, or nil.
func (t *Table) Slot(seq uint64) *Slot {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.slots[seq]
}

// Add returns the slot of a process, which is a new one if there was none. It
// returns nil if the table is full.
func (t *Table) Add(seq uint64) *Slot {
	if t == nil || seq == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.slots[seq]
	if s != nil && s.at < 0 { // another program had used the number, and forgot it
		s.words.seq.Store(nobody)
		s = nil
	}
	switch {
	case t.over || s != nil:
		return s
	case len(t.free) > spare || t.used == slotCount && len(t.free) > 0:
		s = &Slot{t, t.free[0], seq, t.words(t.free[0])}
		t.free = t.free[1:]
		if old := s.words.seq.Load(); old != nobody {
			delete(t.slots, old)
		}
	case t.used < slotCount:
		s = &Slot{t, t.used, seq, t.words(t.used)}
		t.used++
	default:
		return nil
	}
	// Whoever reads this after a kill finds the slot of either process.
	s.words.leader.Store(0)
	s.words.start.Store(0)
	s.words.output.Store(0)
	s.words.seq.Store(seq)
	t.slots[seq] = s
	return s
}

// Keep frees the slots of all processes but some.
func (t *Table) Keep(live func(seq uint64) bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	var over []*Slot
	for seq, s := range t.slots {
		if !live(seq) {
			over = append(over, s)
		}
	}
	t.mu.Unlock()
	for _, s := range over {
		s.Free()
	}
}

// Close gives up the table. The file of another program stays.
func (t *Table) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	_ = t.file.Close() // it is in memory
}

// Free says that nobody counts for the process any more. What was counted can be
// read until another process needs the slot.
func (s *Slot) Free() {
	if s == nil {
		return
	}
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	if s.at >= 0 {
		s.table.free = append(s.table.free, s.at)
		s.at = -1
	}
}

// Reading says that a read of at most so many bytes begins.
func (s *Slot) Reading(most int) { s.miss(most) }

// Took says that the read that has begun has ended, with so many bytes. If they are
// not counted before this program dies, they are missing.
func (s *Slot) Took(most, n int) { s.miss(n - most) }

func (s *Slot) miss(more int) {
	if s == nil {
		return
	}
	word := s.words.output.Load()
	total, missing := word>>missingBits, int(word&missingMost)+more
	s.words.output.Store(total<<missingBits | uint64(min(max(missing, 0), missingMost)))
	runtime.KeepAlive(s) // and so the table's memory
}

// Counted says how long the text is now, and how many bytes of it are held back:
// nobody has written these down.
func (s *Slot) Counted(total int64, held int) {
	if s != nil {
		s.words.output.Store(uint64(total)<<missingBits | uint64(min(held, missingMost)))
		runtime.KeepAlive(s)
	}
}

// Output returns how long the text was, and how many bytes at its end may be
// missing beyond that.
func (s *Slot) Output() (total, missing int64) {
	if s == nil {
		return 0, 0
	}
	word := s.words.output.Load()
	return int64(word >> missingBits), int64(word & missingMost)
}

// Set says how far the start has come, and who the leader is.
func (s *Slot) Set(stage Stage, pid int, start uint64) {
	if s != nil {
		s.words.start.Store(start)
		s.words.leader.Store(uint64(stage)<<32 | uint64(uint32(pid)))
		runtime.KeepAlive(s)
	}
}

// Leader returns what Set has said.
func (s *Slot) Leader() (stage Stage, pid int, start uint64) {
	if s == nil {
		return Unknown, 0, 0
	}
	word := s.words.leader.Load()
	return Stage(word >> 32), int(uint32(word)), s.words.start.Load()
}
