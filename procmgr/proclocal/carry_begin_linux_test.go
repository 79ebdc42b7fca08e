package proclocal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/procstat"
	"github.com/toolproc/toolproc/procmgr/internal/tally"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A program is killed at the very moments of a start: while the leader stands before
// its first instruction, and when it may have gone on. What stood has run nothing, so
// that the start is made anew. What may have gone on never runs twice, even if it has
// ended as what stood there does.
func TestKilledAtTheFirstInstruction(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	const killsItself, exits = "kill -9 $$", "exit 3"
	for _, test := range []struct {
		name    string
		command string
		write   bool // the journal has the line of the start
		goes    bool // the leader goes on before the program is killed
		blind   bool // the next program does not know how far the start had come
		fresh   bool
		endedBy procmgr.Cause
	}{
		{name: "stands", command: exits, fresh: true, endedBy: procmgr.CauseExit},
		{name: "stands, and is written down", command: exits, write: true, fresh: true, endedBy: procmgr.CauseExit},
		{name: "goes", command: exits, goes: true, endedBy: procmgr.CauseExit},
		{name: "goes, and kills itself", command: killsItself, goes: true, endedBy: procmgr.CauseSignal},
		{name: "goes, and nobody knows it", command: exits, goes: true, blind: true, endedBy: procmgr.CauseLost},
		{name: "goes, kills itself, and nobody knows it", command: killsItself, goes: true, blind: true, endedBy: procmgr.CauseLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			ran, ends := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "ends")
			k := newKeeping(t, "")
			defer k.end()
			forked := make(chan struct{}, 1)
			k.started = func() (write, answer bool) {
				forked <- struct{}{}
				return test.write, test.goes
			}
			req := procmgr.StartRequest{ID: "a", Command: "echo ran >>" + ran + "; while ! [ -e " + ends + " ]; do sleep 0.01; done; " + test.command}
			began := make(chan error, 1)
			go func() { // waited for below
				_, err := k.start(req)
				began <- err
			}()
			<-forked
			if test.goes {
				waitFile(t, ran)
				require.NoError(t, <-began)
			}
			k.kill()
			if !test.goes {
				require.Error(t, <-began, "nobody knows")
			}
			k.started = nil
			j := k.h.journal()
			require.Equal(t, test.write, j.Entries[0].Started)
			require.NoError(t, os.WriteFile(ends, nil, 0o600))
			if test.goes { // it has ended before the next program looks
				eventually(t, "it has ended", func() bool {
					all := k.strays()
					require.Len(t, all, 1)
					p, ok := procstat.Look(all[0].PID)
					return ok && p.Ended()
				})
			}
			j.Strays = k.strays()
			if test.blind {
				for _, f := range j.Files[0] {
					unix.Close(f.FD)
				}
				delete(j.Files, 0)
			}
			files := j.Files
			j.Files = nil
			k.launch(order{Journal: j}, files)
			out, err := k.start(req)
			require.NoError(t, err)
			require.Equal(t, !test.fresh, out.Attached)
			out = k.exited("a")
			require.Equal(t, test.endedBy, out.Process.EndedBy)
			if test.endedBy == procmgr.CauseExit {
				require.Equal(t, 3, *out.Process.ExitCode)
			}
			text, err := os.ReadFile(ran)
			require.NoError(t, err)
			require.Equal(t, "ran\n", string(text), "it ran once")
		})
	}
}

// A program dies in the midst of a start, and nobody has seen whether the command had
// begun. If the leader ends as one does that is killed before its first instruction, and
// has printed nothing, nobody knows how it ended: no tool has sent that signal.
func TestEndOfADoubtfulStart(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	for _, test := range []struct {
		name    string
		end     syscall.Signal // by which it ends; 0 if a caller kills it
		prints  bool
		known   bool // the next program knows that it had begun
		again   bool // another program dies before the end
		endedBy procmgr.Cause
	}{
		{name: "killed", end: syscall.SIGKILL, endedBy: procmgr.CauseLost},
		{name: "killed later", end: syscall.SIGKILL, again: true, endedBy: procmgr.CauseLost},
		{name: "its stop ends it", end: syscall.SIGTRAP, endedBy: procmgr.CauseLost},
		{name: "killed after it has printed", end: syscall.SIGKILL, prints: true, endedBy: procmgr.CauseSignal},
		{name: "killed, and it had begun", end: syscall.SIGKILL, known: true, endedBy: procmgr.CauseSignal},
		{name: "another signal", end: syscall.SIGTERM, endedBy: procmgr.CauseSignal},
		{name: "a caller kills it", endedBy: procmgr.CauseRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			ran, prints := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "prints")
			k := newKeeping(t, "")
			defer k.end()
			k.started = func() (write, answer bool) { return false, true }
			_, err := k.start(procmgr.StartRequest{ID: "a", Command: "echo >" + ran + "; while ! [ -e " + prints + " ]; do sleep 0.01; done; echo text; while :; do sleep 0.01; done"})
			require.NoError(t, err)
			waitFile(t, ran)
			k.kill()
			k.started = nil
			j := k.h.journal()
			require.False(t, j.Entries[0].Started)
			if !test.known {
				for _, f := range j.Files[0] {
					unix.Close(f.FD)
				}
				delete(j.Files, 0)
			}
			j.Strays = k.strays()
			files := j.Files
			j.Files = nil
			k.launch(order{Journal: j}, files)
			if test.again {
				k.crash()
			}
			out, err := k.output("a", procmgr.OutputRequest{})
			require.NoError(t, err)
			require.Equal(t, procmgr.Running, out.Process.State)
			if test.prints {
				require.NoError(t, os.WriteFile(prints, nil, 0o600))
				out, err = k.output("a", procmgr.OutputRequest{Until: "text", Wait: long})
				require.NoError(t, err)
				require.True(t, out.Matched)
			}
			if test.end != 0 {
				require.NoError(t, syscall.Kill(out.Process.PID, test.end))
			} else {
				require.NoError(t, k.signal("a", procmgr.Kill))
			}
			out = k.exited("a")
			require.Equal(t, test.endedBy, out.Process.EndedBy)
			require.Equal(t, test.endedBy == procmgr.CauseLost, out.Process.Signal == "")
		})
	}
}

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
