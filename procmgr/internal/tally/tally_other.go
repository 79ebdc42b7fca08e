//go:build !linux

package tally

import "os"

// A Table has a Slot for each process that runs. Here it has none.
type Table struct{}

// A Slot counts for one process. Here there is none.
type Slot struct{}

// New returns nil: there is no memory that outlives a program here.
func New(*os.File) *Table { return nil }

// These do nothing.
func (t *Table) File() *os.File                { return nil }
func (t *Table) Slot(uint64) *Slot             { return nil }
func (t *Table) Add(uint64) *Slot              { return nil }
func (t *Table) Keep(func(uint64) bool)        {}
func (t *Table) Close()                        {}
func (s *Slot) Free()                          {}
func (s *Slot) Reading(int)                    {}
func (s *Slot) Took(int, int)                  {}
func (s *Slot) Counted(int64, int)             {}
func (s *Slot) Output() (total, missing int64) { return 0, 0 }
func (s *Slot) Set(Stage, int, uint64)         {}

// Leader returns nothing.
func (s *Slot) Leader() (stage Stage, pid int, start uint64) { return Unknown, 0, 0 }
