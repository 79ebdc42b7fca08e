package tally_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/tally"
)

// again returns the table as another program gets it.
func again(t *testing.T, table *tally.Table) *tally.Table {
	t.Helper()
	fd, err := unix.Dup(int(table.File().Fd()))
	require.NoError(t, err)
	next := tally.New(os.NewFile(uintptr(fd), "tally"))
	t.Cleanup(next.Close)
	return next
}

func TestSlots(t *testing.T) {
	table := tally.New(nil)
	defer table.Close()
	one, two := table.Add(1), table.Add(2)
	one.Counted(1<<40, 3)
	one.Set(tally.Standing, 1<<22, 1<<40)
	two.Counted(5, 0)
	two.Reading(100)
	require.Same(t, one, table.Add(1))

	next := again(t, table)
	total, missing := next.Slot(1).Output()
	require.Equal(t, int64(1<<40), total)
	require.EqualValues(t, 3, missing)
	stage, pid, start := next.Slot(1).Leader()
	require.Equal(t, tally.Standing, stage)
	require.Equal(t, 1<<22, pid)
	require.Equal(t, uint64(1<<40), start)
	total, missing = next.Slot(2).Output()
	require.EqualValues(t, 5, total)
	require.EqualValues(t, 100, missing)
	two.Took(100, 40)
	_, missing = next.Slot(2).Output()
	require.EqualValues(t, 40, missing)
	require.Nil(t, next.Slot(3))
	next.Add(3).Counted(7, 0)
	total, _ = again(t, next).Slot(3).Output()
	require.EqualValues(t, 7, total)
}

// More than can be told is told as the most, and spoils nothing else.
func TestMostMissing(t *testing.T) {
	table := tally.New(nil)
	defer table.Close()
	s := table.Add(1)
	s.Counted(9, 0)
	s.Reading(1 << 30)
	total, missing := s.Output()
	require.EqualValues(t, 9, total)
	require.EqualValues(t, 1<<20-1, missing)
	s.Counted(10, 1<<30)
	total, missing = s.Output()
	require.EqualValues(t, 10, total)
	require.EqualValues(t, 1<<20-1, missing)
}

// A slot that is free keeps its counts for a while, and is then used again. However
// many processes there were, no two that run have the same one.
func TestReuse(t *testing.T) {
	table := tally.New(nil)
	defer table.Close()
	table.Add(1).Counted(1, 0)
	table.Slot(1).Free()
	table.Slot(1).Free()
	total, _ := again(t, table).Slot(1).Output()
	require.EqualValues(t, 1, total)
	for seq := uint64(2); seq < 100_000; seq++ {
		s := table.Add(seq)
		s.Counted(int64(seq), 0)
		if seq%1000 != 0 {
			s.Free()
		}
	}
	require.Nil(t, table.Slot(1))
	next := again(t, table)
	next.Keep(func(seq uint64) bool { return seq%1000 == 0 })
	for seq := uint64(100_000); seq < 101_000; seq++ {
		next.Add(seq).Counted(0, 0)
	}
	for seq := uint64(1000); seq < 100_000; seq += 1000 {
		total, _ := next.Slot(seq).Output()
		require.EqualValues(t, seq, total)
	}
}

// A program that went on may give a number away again that the one before it had
// forgotten.
func TestForgottenNumber(t *testing.T) {
	table := tally.New(nil)
	defer table.Close()
	table.Add(1).Counted(1, 0)
	table.Slot(1).Free()
	table.Add(1).Counted(2, 0)
	table.Add(2).Counted(3, 0)
	next := again(t, table)
	total, _ := next.Slot(1).Output()
	require.EqualValues(t, 2, total)
	total, _ = next.Slot(2).Output()
	require.EqualValues(t, 3, total)
}

// Without a table nothing is counted, and nothing fails. A file that is too short is
// not used.
func TestNoTable(t *testing.T) {
	var table *tally.Table
	s := table.Add(1)
	s.Reading(1)
	s.Took(1, 1)
	s.Counted(1, 0)
	s.Set(tally.Going, 1, 1)
	s.Free()
	require.Nil(t, table.Slot(1))
	require.Nil(t, table.File())
	table.Keep(nil)
	table.Close()
	short, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	table = tally.New(short)
	defer table.Close()
	require.NotNil(t, table.Add(1))
}

func TestFull(t *testing.T) {
	table := tally.New(nil)
	defer table.Close()
	for seq := uint64(1); seq <= 1<<16; seq++ {
		require.NotNil(t, table.Add(seq))
	}
	require.Nil(t, table.Add(1<<16+1))
	table.Slot(5).Free()
	require.NotNil(t, table.Add(1<<16+1))
	require.Nil(t, table.Slot(5))
}
