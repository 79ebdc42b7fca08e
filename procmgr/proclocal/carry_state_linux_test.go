package proclocal_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

var recordState = flag.Bool("record-state", false, "record a state of this version in testdata")

// A state that an earlier build has saved is read. To record one of a new
// version, run: go test -run TestRecordedStates ./procmgr/proclocal -record-state
func TestRecordedStates(t *testing.T) {
	if *recordState {
		h := newHolder(t)
		l := newKept(t, nil, h)
		_, err := l.Chat("c").Start(t.Context(), procmgr.StartRequest{ID: "one", Command: "printf '50%%\\r60%%\\nend'; exit 3", Notify: "60", Wait: long})
		require.NoError(t, err)
		require.ErrorIs(t, l.Chat("c").Signal(t.Context(), "spent", procmgr.Kill), procmgr.ErrNotFound)
		state, err := l.Save(t.Context())
		require.NoError(t, err)
		state.Files = nil
		name := filepath.Join("testdata", fmt.Sprintf("state-%d.json", carry.Version))
		require.NoError(t, os.WriteFile(name, must(json.Marshal(state)), 0o600))
	}
	recorded, err := filepath.Glob(filepath.Join("testdata", "state-*.json"))
	require.NoError(t, err)
	require.Contains(t, recorded, filepath.Join("testdata", fmt.Sprintf("state-%d.json", carry.Version)))
	for _, name := range recorded {
		var state carry.State
		require.NoError(t, json.Unmarshal(must(os.ReadFile(name)), &state))
		l, run, err := proclocal.Restore(&proclocal.Options{Retain: -1}, newHolder(t), &state)
		require.NoError(t, err)
		run()
		out, err := l.Chat("c").Start(t.Context(), procmgr.StartRequest{ID: "one", Command: "printf '50%%\\r60%%\\nend'; exit 3"})
		require.NoError(t, err)
		require.True(t, out.Attached)
		require.Equal(t, "50%\n60%\nend", out.Text)
		require.Equal(t, 3, *out.Process.ExitCode)
		_, err = l.Chat("c").Start(t.Context(), procmgr.StartRequest{ID: "spent", Command: "echo"})
		require.ErrorIs(t, err, procmgr.ErrConflict)
		page, err := l.Events(t.Context(), procmgr.EventsRequest{})
		require.NoError(t, err)
		require.Len(t, page.Events, 3)
		require.Equal(t, "60%", page.Events[1].Line)
		require.NoError(t, l.Close())
	}
}

// rewrite changes the JSON of a record in a journal.
func rewrite(t *testing.T, e *carry.Entry, change func(m map[string]any)) {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(e.Record, &m))
	change(m)
	e.Record = must(json.Marshal(m))
}

// A state of another version, or one that is damaged, makes no Local, and its
// descriptors are closed.
func TestStatesThatCannotBeRead(t *testing.T) {
	h := newHolder(t)
	l := newKept(t, nil, h)
	_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "echo x", Wait: long})
	require.NoError(t, err)
	state, err := l.Save(t.Context())
	require.NoError(t, err)
	for name, change := range map[string]func(s *carry.State){
		"version": func(s *carry.State) { s.Version++ },
		"empty":   func(s *carry.State) { s.Data = nil },
		"cut":     func(s *carry.State) { s.Data = s.Data[:len(s.Data)-1] },
		"longer":  func(s *carry.State) { s.Data = append(s.Data[:len(s.Data):len(s.Data)], 0) },
		"head":    func(s *carry.State) { s.Data = append([]byte{255, 255, 255}, s.Data[3:]...) },
		"json": func(s *carry.State) {
			s.Data = append(append([]byte(nil), s.Data[:8]...), make([]byte, len(s.Data)-8)...)
		},
	} {
		var fds [2]int
		require.NoError(t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
		damaged := *state
		damaged.Files = map[uint64][]carry.File{1: {{Role: carry.Output, FD: fds[0]}}}
		change(&damaged)
		_, _, err := proclocal.Restore(&proclocal.Options{}, h, &damaged)
		require.ErrorIs(t, err, procmgr.ErrInvalid, name)
		_, err = unix.Write(fds[1], []byte("x"))
		require.ErrorIs(t, err, unix.EPIPE, "%s: the read end is closed", name)
		unix.Close(fds[1])
	}
	local, run, err := proclocal.Restore(&proclocal.Options{}, h, state)
	require.NoError(t, err)
	run()
	require.NoError(t, local.Close())
}

// If the time of a Save is up before all calls have ended, nothing has changed.
func TestSaveGivesUp(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	h := newHolder(t)
	opts := &proclocal.Options{OnStart: func(p procmgr.Process) {
		if p.ID == "slow" {
			close(begun)
			<-goOn
		}
	}}
	l := newKept(t, opts, h)
	started := make(chan error, 1)
	go func() { // waited for below
		_, err := l.Start(context.Background(), procmgr.StartRequest{ID: "slow", Command: "echo slow; exit 3", Wait: long})
		started <- err
	}()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := l.Save(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(goOn)
	require.NoError(t, <-started)
	require.Equal(t, 4, *run(t, l, "exit 4").Process.ExitCode, "it goes on")
	l = upgraded(t, l, &proclocal.Options{}, h)
	require.Equal(t, 3, *ended(t, l, "slow").Process.ExitCode)
	require.NoError(t, l.Close())
}

// A Kill that is under way is finished before a Save, and an input ends with what it
// has written.
func TestSaveAmidCalls(t *testing.T) {
	h := newHolder(t)
	l := newKept(t, nil, h)
	_, err := l.Start(t.Context(), procmgr.StartRequest{ID: "full", Command: "exec sleep 1000", Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	written := make(chan procmgr.InputOutput, 1)
	full := procmgr.InputRequest{Key: "k", Data: make([]byte, procmgr.MaxInput), Wait: long}
	_, err = l.Input(t.Context(), "full", procmgr.InputRequest{Data: make([]byte, procmgr.MaxInput-100)})
	require.NoError(t, err)
	writes := make(chan struct{})
	go func() { // waited for below
		close(writes)
		out, _ := l.Input(context.Background(), "full", full)
		written <- out
	}()
	<-writes
	id := begin(t, l, "trap '' TERM; echo ready; sleep 1000").Process.ID
	killed := make(chan error, 1)
	go func() { killed <- l.Signal(context.Background(), id, procmgr.Kill) }() // waited for below
	require.NoError(t, <-killed)
	l = upgraded(t, l, nil, h)
	before := <-written
	full.Wait = 100 * time.Millisecond // no part of what a key stands for
	again, err := l.Input(t.Context(), "full", full)
	if before.Process.ID != "" {
		require.Less(t, before.Written, len(full.Data))
	}
	require.NoError(t, err)
	require.Less(t, again.Written, len(full.Data), "nobody reads it")
	require.Equal(t, procmgr.Exited, ended(t, l, id).Process.State)
	require.NoError(t, l.Close())
}

// If the Keep cannot write a start down, nothing runs, and the ID is unused.
func TestKeepRefuses(t *testing.T) {
	h := newHolder(t)
	h.refuse = errors.New("no space left on device")
	dir := t.TempDir()
	l := newKept(t, &proclocal.Options{LogDir: dir}, h)
	ran := filepath.Join(t.TempDir(), "ran")
	_, err := l.Start(t.Context(), procmgr.StartRequest{ID: "a", Command: "touch " + ran})
	require.ErrorIs(t, err, h.refuse)
	require.NoFileExists(t, ran)
	h.refuse = nil
	out, err := l.Start(t.Context(), procmgr.StartRequest{ID: "a", Command: "echo other", Wait: long})
	require.NoError(t, err)
	require.False(t, out.Attached)
	require.NoError(t, l.Close())
}

// What a damaged journal does not tell is unknown, and never taken for nothing.
func TestRecoverDamaged(t *testing.T) {
	h := newHolder(t)
	l := newKept(t, nil, h)
	for _, id := range []string{"whole", "damaged"} {
		_, err := l.Chat("c").Start(t.Context(), procmgr.StartRequest{ID: id, Command: "exit 3", Wait: long})
		require.NoError(t, err)
	}
	_, err := l.Save(t.Context()) // and its state is lost
	require.NoError(t, err)
	j := h.journal()
	j.Holes = true
	for i := range j.Entries {
		if j.Entries[i].ID == "damaged" {
			j.Entries[i].Record = nil
		}
	}
	local, run, err := proclocal.Recover(&proclocal.Options{}, h, j)
	require.NoError(t, err)
	run()
	c := local.Chat("c")
	out, err := c.Start(t.Context(), procmgr.StartRequest{ID: "whole", Command: "exit 3"})
	require.NoError(t, err)
	require.Equal(t, 3, *out.Process.ExitCode)
	for id, want := range map[string]string{"damaged": "the manager that this ID was given to has died", "new": "nobody knows whether this ID has run"} {
		_, err = c.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "exit 3"})
		require.ErrorIs(t, err, procmgr.ErrUnknown, id)
		require.ErrorContains(t, err, want)
	}
	_, err = c.Output(t.Context(), "damaged", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.ErrorIs(t, c.Signal(t.Context(), "damaged", procmgr.Kill), procmgr.ErrUnknown)
	out, err = c.Start(t.Context(), procmgr.StartRequest{Command: "exit 4", Wait: long})
	require.NoError(t, err, "an ID of the manager's own is surely new")
	require.Equal(t, 4, *out.Process.ExitCode)
	require.NoError(t, local.Close())
}

// A deaf Keep hears only that processes are about to start, as if its program were
// killed after each fork.
type deaf struct{ *holder }

func (deaf) Started(carry.Key, carry.Leader, []byte) {}
func (deaf) Turned(carry.Key, []byte)                {}

// A Recover writes down what it has found out about a start before anything is
// reaped. The program that recovers may be killed too, and then nobody sees a child
// of the first one any more.
func TestRecoverTwice(t *testing.T) {
	for name, test := range map[string]struct {
		command string
		strays  bool
	}{
		"it lives":     {"exec sleep 1000", false},
		"it has ended": {"exit 3", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t)
			dead, err := proclocal.NewKept(&proclocal.Options{}, deaf{h})
			require.NoError(t, err)
			req := procmgr.StartRequest{ID: "a", Command: test.command}
			if test.strays {
				req.Wait = long
			}
			_, err = dead.Chat("c").Start(t.Context(), req)
			require.NoError(t, err)
			j := h.journal()
			require.False(t, j.Entries[0].Started)
			j.Unsure = test.strays
			first, run, err := proclocal.Recover(&proclocal.Options{}, h, j)
			require.NoError(t, err)
			j = h.journal() // of a program that is killed here
			run()
			require.NoError(t, dead.Close()) // it ends what lives, and reaps it
			require.NoError(t, first.Close())

			second, run, err := proclocal.Recover(&proclocal.Options{}, newHolder(t), j)
			require.NoError(t, err)
			run()
			out, err := second.Chat("c").Start(t.Context(), procmgr.StartRequest{ID: "a", Command: test.command, Wait: long})
			require.NoError(t, err)
			require.True(t, out.Attached, "it runs twice")
			require.Equal(t, procmgr.Exited, out.Process.State)
			require.Equal(t, procmgr.CauseLost, out.Process.EndedBy)
			require.NoError(t, second.Close())
		})
	}
}

// The log goes on in the same file, whoever looks for abandoned directories
// meanwhile, and the text that the window has dropped is read from it.
func TestUpgradeWithLogs(t *testing.T) {
	h := newHolder(t)
	opts := &proclocal.Options{LogDir: t.TempDir(), Head: 10, Tail: 10}
	l := newKept(t, opts, h)
	_, err := l.Start(t.Context(), procmgr.StartRequest{ID: "cat", Command: "cat", Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	gone := run(t, l, "seq 100; exit 3").Process
	want := ""
	var path string
	for i := range 5 {
		line := strings.Repeat(string(rune('a'+i)), 40) + "\n"
		want += line
		out, err := l.Input(t.Context(), "cat", procmgr.InputRequest{Data: []byte(line), Until: line[:40], Wait: long})
		require.NoError(t, err)
		require.True(t, out.Matched)
		if i > 0 {
			require.Equal(t, path, out.Process.LogPath)
		}
		path = out.Process.LogPath

		state, err := l.Save(t.Context())
		require.NoError(t, err)
		other, err := proclocal.New(opts) // removes what is abandoned
		require.NoError(t, err)
		require.NoError(t, other.Close())
		next, goOn, err := proclocal.Restore(opts, h, state)
		require.NoError(t, err)
		goOn()
		l = next

		out2, err := l.Output(t.Context(), "cat", procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, want, out2.Text)
	}
	require.Equal(t, want, string(must(os.ReadFile(path))))
	out, err := l.Output(t.Context(), gone.ID, procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Nil(t, out.Truncated)
	require.Contains(t, out.Text, "\n50\n")
	require.NoError(t, os.Remove(path))
	l = upgraded(t, l, opts, h)
	out, err = l.Output(t.Context(), "cat", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, out.Process.LogError)
	require.Equal(t, int64(len(want)), out.Next)
	require.NoError(t, l.Close())
	require.NoFileExists(t, gone.LogPath)
}

// What has left its session is found by its mark, whichever program started it:
// before and after its leader has exited, and after all of it was taken for gone.
func TestUpgradeWithEscaped(t *testing.T) {
	testenv.Programs(t, "setsid")
	h := newHolder(t)
	l := newKept(t, nil, h)
	dir := t.TempDir()
	for _, id := range []string{"now", "later"} {
		_, err := l.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "setsid env -i sleep 1000 >/dev/null 2>&1 & echo $! >" + filepath.Join(dir, id) + "; exit 3", Wait: long})
		require.NoError(t, err)
		if id == "now" {
			l = upgraded(t, l, nil, h)
		}
	}
	l = upgraded(t, l, nil, h)
	for _, id := range []string{"now", "later"} {
		eventually(t, id+" is found", func() bool {
			out, err := l.Output(t.Context(), id, procmgr.OutputRequest{})
			require.NoError(t, err)
			require.Equal(t, 3, *out.Process.ExitCode)
			return out.Process.State == procmgr.Detached
		})
		l = upgraded(t, l, nil, h)
		require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
		require.Equal(t, procmgr.Exited, ended(t, l, id).Process.State)
		pid := strings.TrimSpace(string(must(os.ReadFile(filepath.Join(dir, id)))))
		eventually(t, "it has gone", func() bool { return !alive(pid) })
	}
	require.NoError(t, l.Close())
}

// What has left its session is found after its process was taken for gone: the
// code of that process is told again and again, in whichever program it is found.
func TestUpgradeOfARevivedProcess(t *testing.T) {
	testenv.Programs(t, "setsid")
	for _, before := range []int{0, 1, 2} {
		h, file := newHolder(t), filepath.Join(t.TempDir(), "pid")
		l := newKept(t, nil, h)
		var id string
		for try := 0; ; try++ {
			require.Less(t, try, 50, "it is seen at once each time")
			p := run(t, l, "setsid -f sh -c 'echo $$ >"+file+"; exec sleep 600' >/dev/null 2>&1; exit 3").Process
			if id = p.ID; p.State == procmgr.Exited {
				break
			}
			require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
		}
		for range before {
			l = upgraded(t, l, nil, h)
		}
		for range 3 {
			eventually(t, "it is found", func() bool {
				out, err := l.Output(t.Context(), id, procmgr.OutputRequest{})
				require.NoError(t, err)
				require.Equal(t, 3, *out.Process.ExitCode)
				require.Equal(t, procmgr.CauseExit, out.Process.EndedBy)
				return out.Process.State == procmgr.Detached
			})
			l = upgraded(t, l, nil, h)
		}
		eventually(t, "it has told its pid", func() bool {
			pid, err := os.ReadFile(file)
			return err == nil && strings.HasSuffix(string(pid), "\n")
		})
		cause := procmgr.CauseShutdown
		if before > 0 {
			cause = procmgr.CauseRequest
			require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
		}
		if before > 1 { // the end is told by the next program, too
			l = upgraded(t, l, nil, h)
		}
		require.NoError(t, l.Close())
		end := ended(t, l, id).Process
		require.Equal(t, procmgr.Exited, end.State)
		require.Equal(t, 3, *end.ExitCode)
		require.Equal(t, cause, end.EndedBy)
		require.False(t, alive(strings.TrimSpace(string(must(os.ReadFile(file))))))
	}
}

// A tombstone of a process of which output was lost says so too.
func TestTombstoneOfALoss(t *testing.T) {
	h := newHolder(t)
	dead := newKept(t, nil, h)
	_, err := dead.Chat("c").Start(t.Context(), procmgr.StartRequest{ID: "a", Command: "exec sleep 1000"})
	require.NoError(t, err)
	j := h.journal()
	for _, f := range j.Files[0] {
		unix.Close(f.FD)
	}
	delete(j.Files, 0)
	opts := &proclocal.Options{Retain: time.Millisecond}
	l, run, err := proclocal.Recover(opts, h, j)
	require.NoError(t, err)
	run()
	require.NoError(t, l.Chat("c").Signal(t.Context(), "a", procmgr.Kill))
	eventually(t, "only its tombstone is left", func() bool {
		page, err := l.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
		require.NoError(t, err)
		return len(all) == 0
	})
	out, err := l.Chat("c").Output(t.Context(), "a", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, &headtail.Truncation{Strategy: "head_tail", Unknown: true}, out.Truncated)
	l = upgraded(t, l, opts, h)
	out, err = l.Chat("c").Output(t.Context(), "a", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, &headtail.Truncation{Strategy: "head_tail", Unknown: true}, out.Truncated)
	require.NoError(t, dead.Close())
	require.NoError(t, l.Close())
}
