package proclocal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// There are many starts, while others list, read and signal. Each has its own
// output and its own exit code, and nothing is left of any.
func TestManyStarts(t *testing.T) { manyStarts(t, 200) }

func TestHeldManyStarts(t *testing.T) {
	testenv.Held(t)
	manyStarts(t, testenv.Rounds(500, 10_000))
}

func manyStarts(t *testing.T, starts int) {
	t.Helper()
	before := leftover.Descriptors()
	const retain = time.Second
	l, err := proclocal.New(&proclocal.Options{Retain: retain})
	require.NoError(t, err)
	var next atomic.Int64
	id := func(i int64) string { return fmt.Sprint("start-", i) }
	var late atomic.Int64
	check := func(i int64, out procmgr.Output) bool {
		if out.Process.State == procmgr.Detached {
			// If the machine is too busy to give another child its exec in
			// time, that child holds the pipe for longer than anybody waits. It
			// is rare, and soon over.
			late.Add(1)
			var err error
			out, err = l.Output(context.Background(), out.Process.ID, procmgr.OutputRequest{Wait: long})
			if !assert.NoError(t, err) {
				return false
			}
		}
		text := fmt.Sprintln("this is", i)
		if end := out.Process.ExitedAt; out.Truncated != nil && !end.IsZero() && time.Since(end) >= retain {
			// The machine is so busy that the output has been dropped meanwhile.
			text = ""
			if !assert.Equal(t, out.Next, out.Truncated.OmittedBytes) {
				return false
			}
		}
		return assert.Equal(t, text, out.Text) &&
			assert.NotNil(t, out.Process.ExitCode) &&
			assert.Equal(t, int(i%200), *out.Process.ExitCode) &&
			assert.Equal(t, procmgr.Exited, out.Process.State) &&
			assert.Equal(t, procmgr.CauseExit, out.Process.EndedBy)
	}

	var starters, others sync.WaitGroup
	done := make(chan int64)
	for range 8 {
		starters.Go(func() {
			for i := next.Add(1); i <= int64(starts); i = next.Add(1) {
				out, err := l.Start(context.Background(), procmgr.StartRequest{
					ID:      id(i),
					Command: fmt.Sprintf("echo this is %d; exit %d", i, i%200),
					Wait:    long,
				})
				if !assert.NoError(t, err) || !check(i, out) {
					return
				}
				select {
				case done <- i:
				default: // no receiver is free to look at it
				}
			}
		})
	}
	other := func(f func(ended int64) bool) {
		others.Go(func() {
			for i := range done {
				if !f(i) {
					return
				}
			}
		})
	}
	other(func(ended int64) bool {
		out, err := l.Output(context.Background(), id(ended), procmgr.OutputRequest{Wait: time.Second})
		return assert.NoError(t, err) && check(ended, out)
	})
	other(func(ended int64) bool {
		return assert.ErrorIs(t, l.Signal(context.Background(), id(ended), procmgr.Kill), procmgr.ErrNotRunning)
	})
	other(func(int64) bool {
		page, err := l.List(context.Background(), procmgr.ListRequest{})
		seen := make(map[string]bool)
		for _, p := range page.Processes {
			whole := p.PID != 0 && p.ID != "" && !p.StartedAt.IsZero() && (p.State == procmgr.Exited) == !p.ExitedAt.IsZero()
			if !assert.True(t, whole, "half a process is listed: %+v", p) || !assert.False(t, seen[p.ID], "%s is there twice", p.ID) {
				return false
			}
			seen[p.ID] = true
		}
		return assert.NoError(t, err)
	})
	other(func(int64) bool { // a process that is ended meanwhile is ended alone
		out, err := l.Start(context.Background(), procmgr.StartRequest{Command: "sleep 1000 & exec sleep 1000"})
		if !assert.NoError(t, err) || !assert.NoError(t, l.Signal(context.Background(), out.Process.ID, procmgr.Kill)) {
			return false
		}
		out, err = l.Output(context.Background(), out.Process.ID, procmgr.OutputRequest{})
		return assert.NoError(t, err) && assert.Equal(t, procmgr.Exited, out.Process.State)
	})
	starters.Wait()
	close(done)
	others.Wait()
	require.LessOrEqual(t, late.Load(), int64(starts/50), "commands that left nothing behind were told as detached")
	require.NoError(t, l.Close())
	require.Empty(t, leftover.Children())
	require.Empty(t, goroutines())
	require.LessOrEqual(t, leftover.Descriptors(), before+2, "the poller's own")
}

// A stop and a start of one ID come at the same instant. Either the start is
// refused, or the process that it started is dead when both have returned.
func TestKillRacesStart(t *testing.T) {
	l := newLocal(t, nil)
	dir := t.TempDir()
	marker := "toolproc-race-" + procmgr.NewID()
	t.Cleanup(func() { killMarked(marker) })
	refused, killed := 0, 0
	for round := range 200 {
		starts := 1
		if round%4 == 0 {
			starts = 8
		}
		id := fmt.Sprint("race-", round)
		began := filepath.Join(dir, id)
		req := procmgr.StartRequest{
			ID:      id,
			Command: "echo began >>" + began + "; sleep 1000 & setsid sleep 1000 & wait",
			Env:     map[string]string{"MARKER": marker},
		}
		var group sync.WaitGroup
		gate := make(chan struct{})
		errs := make([]error, starts)
		for i := range errs {
			group.Go(func() {
				<-gate
				_, errs[i] = l.Start(context.Background(), req)
			})
		}
		var stop error
		group.Go(func() {
			<-gate
			for began := time.Now(); time.Since(began) < time.Duration(round%20)*20*time.Microsecond; {
				runtime.Gosched() // a little later each time
			}
			stop = l.Signal(context.Background(), id, procmgr.Kill)
		})
		close(gate)
		group.Wait()

		ran, _ := os.ReadFile(began)
		require.LessOrEqual(t, strings.Count(string(ran), "began\n"), 1, "it ran once at most")
		if errors.Is(stop, procmgr.ErrNotFound) { // the stop was first
			refused++
			require.Empty(t, string(ran))
			for _, err := range errs {
				require.ErrorIs(t, err, procmgr.ErrConflict)
			}
			_, err := l.Output(t.Context(), id, procmgr.OutputRequest{})
			require.ErrorIs(t, err, procmgr.ErrNotFound)
			continue
		}
		killed++
		require.NoError(t, stop)
		for _, err := range errs {
			require.NoError(t, err)
		}
		out := output(t, l, id, procmgr.OutputRequest{})
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Equal(t, procmgr.CauseRequest, out.Process.EndedBy)
	}
	require.Empty(t, marked(marker), "none has survived")
	t.Logf("%d refused, %d killed", refused, killed)
}

// A start that races Close is refused, or Close ends the process that it
// started. One that Close has given up in its fork is refused with its ID.
func TestStartRacesClose(t *testing.T) {
	marker := "toolproc-close-" + procmgr.NewID()
	t.Cleanup(func() { killMarked(marker) })
	for round := range 30 {
		var log safeBuffer
		l, err := proclocal.New(&proclocal.Options{StopGrace: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		var group sync.WaitGroup
		gate := make(chan struct{})
		for i := range 8 {
			group.Go(func() {
				<-gate
				for range 20 {
					out, err := l.Chat(fmt.Sprint("chat", i)).Start(context.Background(), procmgr.StartRequest{
						Command: "sleep 1000 & exec sleep 1000",
						Env:     map[string]string{"MARKER": marker},
					})
					if err != nil {
						assert.ErrorIs(t, err, procmgr.ErrClosed)
						if id := out.Process.ID; id != "" {
							assert.Contains(t, log.String(), `msg="a start that hangs was given up" process_id=`+id+" ")
						}
						return
					}
				}
			})
		}
		close(gate)
		if round%2 == 0 {
			eventually(t, "one has started", func() bool { return len(list(t, l)) > 0 })
		}
		require.NoError(t, l.Close())
		group.Wait()
		all := list(t, l)
		for _, p := range all {
			require.Equal(t, procmgr.Exited, p.State)
			require.Equal(t, procmgr.CauseShutdown, p.EndedBy)
		}
		require.Empty(t, marked(marker))
	}
}

// Records turn into tombstones while they are read and signalled. An ID that
// was once given is never unknown, and its exit code never changes.
func TestHeldReadsRaceRetention(t *testing.T) {
	testenv.Held(t)
	for _, opts := range []*proclocal.Options{
		{Retain: time.Nanosecond},
		{Retain: 2 * time.Millisecond},
		{OutputMemory: 1, Head: 1 << 10, Tail: 1 << 10},
	} {
		l := newLocal(t, opts)
		var group sync.WaitGroup
		for worker := range 4 {
			group.Go(func() {
				c := l.Chat(fmt.Sprint("chat", worker))
				for i := range 60 {
					id := fmt.Sprintf("r-%d-%d", worker, i)
					req := procmgr.StartRequest{ID: id, Command: fmt.Sprintf("echo hello; exit %d", i), Wait: long}
					out, err := c.Start(context.Background(), req)
					if !assert.NoError(t, err) || !assert.Equal(t, i, *out.Process.ExitCode) {
						return
					}
					for _, m := range []procmgr.Manager{c, l, c} {
						out, err := m.Output(context.Background(), id, procmgr.OutputRequest{Until: "^hello$"})
						if !assert.NoError(t, err, "it was known once") {
							return
						}
						assert.Equal(t, i, *out.Process.ExitCode)
						assert.Equal(t, int64(6), out.Next)
						if out.Text == "" {
							assert.Equal(t, int64(6), out.Truncated.OmittedBytes)
						} else {
							assert.Equal(t, "hello\n", out.Text)
						}
						assert.ErrorIs(t, m.Signal(context.Background(), id, procmgr.Terminate), procmgr.ErrNotRunning)
					}
					out, err = c.Start(context.Background(), req)
					assert.NoError(t, err)
					assert.True(t, out.Attached, "it is not run again")
				}
			})
		}
		group.Wait()
	}
}

// A process may end by itself while Close works, and leave a member that has
// left its session. Close does not miss that member.
func TestCloseFindsWhatLeavesMeanwhile(t *testing.T) {
	marker := "toolproc-leaves-" + procmgr.NewID()
	t.Cleanup(func() { killMarked(marker) })
	dir := t.TempDir()
	blocked, inHook := make(chan struct{}), make(chan struct{})
	var block atomic.Bool
	l, err := proclocal.New(&proclocal.Options{WorkDir: dir, PerChat: func(context.Context, string) (*proclocal.ChatOptions, error) {
		if block.Load() {
			close(inHook)
			<-blocked
		}
		return nil, nil
	}})
	require.NoError(t, err)
	const leavers = 12
	for i := range leavers {
		m := l.Chat(fmt.Sprint("chat", i))
		start(t, m, procmgr.StartRequest{
			ID:      "leaver",
			Command: "while [ ! -e go ]; do sleep 0.01; done; setsid sh -c 'touch left-$PPID; exec sleep 1000' >/dev/null 2>&1 & while [ ! -e left-$$ ]; do sleep 0.01; done",
			Env:     map[string]string{"MARKER": marker},
		})
	}
	block.Store(true)
	var group sync.WaitGroup
	group.Go(func() { // Close waits for this start, which is under way, and lets it run nothing
		_, err := l.Start(context.Background(), procmgr.StartRequest{Command: "sleep 1000"})
		assert.ErrorIs(t, err, procmgr.ErrClosed)
	})
	<-inHook
	group.Go(func() { assert.NoError(t, l.Close()) })
	eventually(t, "Close has begun", func() bool {
		_, err := l.Chat("other").Start(t.Context(), procmgr.StartRequest{Command: "true", WorkDir: "/no/such"})
		return errors.Is(err, procmgr.ErrClosed)
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	for i := range leavers {
		out, err := l.Chat(fmt.Sprint("chat", i)).Output(t.Context(), "leaver", procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		require.NotEqual(t, procmgr.Running, out.Process.State)
	}
	close(blocked)
	group.Wait()
	require.Empty(t, marked(marker))
}
