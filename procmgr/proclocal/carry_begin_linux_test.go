package proclocal_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/procstat"
	"github.com/toolproc/toolproc/procmgr/internal/tally"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// What a program has read and not written down when it is killed is gone. The next
// one counts it: as omitted, and in the offsets. A log that lacks it says so.
func TestKilledAmidARead(t *testing.T) {
	for _, test := range []struct {
		name    string
		at      func(s *tally.Slot)
		missing int64
	}{
		{"between two reads", func(*tally.Slot) {}, 0},
		{"in a read", func(s *tally.Slot) { s.Reading(1000) }, 1000},
		{"after a read", func(s *tally.Slot) { s.Reading(1000); s.Took(1000, 7) }, 7},
		{"after a read of nothing", func(s *tally.Slot) { s.Reading(1000); s.Took(1000, 0) }, 0},
		{"while a line is redrawn", func(s *tally.Slot) { s.Reading(1000); s.Took(1000, 10); s.Counted(5, 3) }, 3},
	} {
		for _, logged := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, ", log ", logged), func(t *testing.T) {
				opts := &proclocal.Options{}
				if logged {
					opts.LogDir = t.TempDir()
				}
				h := newHolder(t)
				dead := newKept(t, opts, h)
				_, err := dead.Chat("c").Start(t.Context(), procmgr.StartRequest{ID: "a", Command: "echo text; read line; echo more", Stdin: procmgr.StdinPipe})
				require.NoError(t, err)
				out, err := dead.Chat("c").Output(t.Context(), "a", procmgr.OutputRequest{Until: "text", Wait: long})
				require.NoError(t, err)
				if logged { // the log gets a text just after it can be read
					eventually(t, "it is in the log", func() bool {
						text, err := os.ReadFile(out.Process.LogPath)
						return err == nil && len(text) == 5
					})
				}
				slot := h.tally(t).Slot(1)
				eventually(t, "nothing is being read", func() bool { total, missing := slot.Output(); return total == 5 && missing == 0 })
				test.at(slot)

				l, run, err := proclocal.Recover(opts, h, h.journal()) // as if dead were killed
				require.NoError(t, err)
				out, err = l.Chat("c").Output(t.Context(), "a", procmgr.OutputRequest{})
				require.NoError(t, err)
				require.Equal(t, 5+test.missing, out.Next)
				omitted := test.missing
				if logged {
					require.Contains(t, out.Text, "text\n")
				} else {
					omitted += 5
				}
				if omitted > 0 {
					require.Equal(t, omitted, out.Truncated.OmittedBytes)
				} else {
					require.Nil(t, out.Truncated)
				}
				require.Equal(t, logged && test.missing > 0, out.Process.LogError != "", out.Process.LogError)
				run()
				require.NoError(t, dead.Close())
				require.NoError(t, l.Close())
			})
		}
	}
}

// tally returns the tally that the holder has.
func (h *holder) tally(t *testing.T) *tally.Table {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.files[0] {
		if f.Role == carry.Tally {
			fd, err := unix.Dup(f.FD)
			require.NoError(t, err)
			table := tally.New(os.NewFile(uintptr(fd), "tally"))
			t.Cleanup(table.Close)
			return table
		}
	}
	require.Fail(t, "there is none")
	return nil
}

// A number that is another process's now is no leader: neither is that process
// signalled, nor is its end awaited.
func TestNumberOfAnotherProcess(t *testing.T) {
	h := newHolder(t)
	dead := newKept(t, nil, h)
	_, err := dead.Chat("c").Start(t.Context(), procmgr.StartRequest{ID: "a", Command: "exec sleep 1000"})
	require.NoError(t, err)
	j := h.journal()
	leader := h.leaders[1]
	now, ok := procstat.Look(leader.PID)
	require.True(t, ok)
	require.Equal(t, leader.Start, now.Start, "it is what the system says")
	rewrite(t, &j.Entries[0], func(m map[string]any) {
		lineage := m["lineage"].(map[string]any)
		lineage["start"] = lineage["start"].(float64) - 1
	})
	awaited := make(chan carry.Leader, 1)
	next := newHolder(t)
	next.await = func(_ carry.Key, leader carry.Leader) <-chan carry.Status {
		awaited <- leader
		lost := make(chan carry.Status)
		close(lost)
		return lost
	}
	l, run, err := proclocal.Recover(&proclocal.Options{}, next, j)
	require.NoError(t, err)
	run()
	require.Equal(t, carry.Leader{PID: leader.PID, Start: leader.Start - 1}, <-awaited, "whoever knows the end, knows it by this name")
	eventually(t, "its end is lost, and nothing else is found", func() bool {
		out, err := l.Chat("c").Output(t.Context(), "a", procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		return out.Process.EndedBy == procmgr.CauseLost || out.Process.State == procmgr.Detached
	})
	require.NoError(t, dead.Close())
	require.NoError(t, l.Close())
}
