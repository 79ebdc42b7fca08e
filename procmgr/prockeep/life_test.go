//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A program is killed. Its processes go on; the next program knows of every end,
// every ID and all output.
func TestProgramIsKilled(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil) // the keeper's first opener is another program than the one that is killed
	pid := keeperPID(t, k)
	require.NoError(t, k.Close())

	file := filepath.Join(t.TempDir(), "go")
	wait := "while [ ! -e " + file + " ]; do sleep 0.01; done; "
	startAndKill(t, dir, "ends", "echo ready; "+wait+"echo done; exit 3")
	startAndKill(t, dir, "serves", "echo ready; exec sleep 1000")
	require.NoError(t, os.WriteFile(file, nil, 0o600))

	k = open(t, dir, nil)
	require.Equal(t, pid, keeperPID(t, k))
	chat := k.Chat("a")
	out, err := chat.Output(t.Context(), "ends", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, out.Process.State)
	require.Equal(t, 3, *out.Process.ExitCode)
	require.Equal(t, "ready\ndone\n", out.Text)
	out, err = chat.Start(t.Context(), procmgr.StartRequest{ID: "serves", Command: "echo ready; exec sleep 1000"})
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, procmgr.Running, out.Process.State)
	_, err = chat.Start(t.Context(), procmgr.StartRequest{ID: "serves", Command: "another"})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	page, err := chat.List(t.Context(), procmgr.ListRequest{})
	all := page.Processes
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.NoError(t, chat.Signal(t.Context(), "serves", procmgr.Kill))
}

// The program that started the keeper is killed: the keeper is not its child.
func TestFirstOpenerIsKilled(t *testing.T) {
	dir := newDir(t)
	startAndKill(t, dir, "x", "echo ready; exec sleep 1000")
	out, err := open(t, dir, nil).Chat("a").Output(t.Context(), "x", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
}

// A call that is under way when the keeper dies says that the command may have
// run. The next one finds it.
func TestKeeperIsKilledDuringAStart(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	pid := keeperPID(t, k)
	failed := make(chan error, 1)
	id := ""
	req := procmgr.StartRequest{ID: "x", Command: "exec sleep 1000", Wait: long}
	go func() {
		out, err := k.Start(context.Background(), req)
		id = out.Process.ID
		failed <- err
	}()
	var victim int
	require.Eventually(t, func() bool {
		out, err := k.Output(t.Context(), "x", procmgr.OutputRequest{})
		victim = out.Process.PID
		return err == nil && victim > 0
	}, long, time.Millisecond)
	kill(t, pid)
	require.ErrorIs(t, <-failed, procmgr.ErrUnknown)
	require.Equal(t, "x", id)
	req.Wait = 0
	out, err := k.Start(t.Context(), req)
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, victim, out.Process.PID)
	require.Equal(t, procmgr.Running, out.Process.State)
}

// A keeper ends when nothing runs and nobody asks. That forgets every ID, and
// the next call of a handle starts another keeper.
func TestIdle(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, &prockeep.Options{Idle: 50 * time.Millisecond})
	req := procmgr.StartRequest{ID: "x", Command: "echo $PPID; sleep 0.2", Wait: long}
	out, err := k.Start(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, 0, *out.Process.ExitCode, "a process runs longer than the idle time")
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "keeper")); return err != nil }, long, time.Millisecond)

	again, err := open(t, dir, &prockeep.Options{Idle: lifetime}).Start(t.Context(), req)
	require.NoError(t, err)
	require.False(t, again.Attached)
	require.NotEqual(t, out.Text, again.Text)
	run(t, k, "true")
}

// A start, or an Open, that reaches a keeper at its end for want of callers is served by
// the next one. Each command runs once. Only if this program gets no processor for as
// long as the keeper still answers, a start is ErrUnknown.
func TestHeldStartsWhileKeepersEnd(t *testing.T) {
	testenv.Held(t)
	const dirs = 25
	rounds := testenv.Rounds(2, 40)
	effects := filepath.Join(t.TempDir(), "effects")
	opts := &prockeep.Options{Idle: time.Millisecond}
	var wg sync.WaitGroup
	var ends, unknown atomic.Int64
	for d := range dirs {
		dir := newDir(t)
		k := open(t, dir, opts)
		wg.Go(func() {
			for round := range rounds {
				// A keeper that was greeted goes on for a second.
				time.Sleep(970*time.Millisecond + rand.N(60*time.Millisecond))
				h := k
				if round%2 == 0 {
					var err error
					if h, err = prockeep.Open(t.Context(), dir, opts); !assert.NoError(t, err) {
						return
					}
				}
				id := fmt.Sprintf("d%d-%d", d, round)
				out, err := h.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "echo " + id + " >> " + effects + "; echo ran", Wait: long})
				if errors.Is(err, procmgr.ErrUnknown) {
					unknown.Add(1)
				} else if assert.NoError(t, err, id) {
					assert.Equal(t, "ran\n", out.Text)
				}
				if h != k {
					assert.NoError(t, h.Close())
				}
			}
			log, err := os.ReadFile(filepath.Join(dir, "keeper.log"))
			assert.NoError(t, err)
			ends.Add(int64(bytes.Count(log, []byte("why=idle"))))
		})
	}
	wg.Wait()
	t.Log(ends.Load(), "keepers have ended,", unknown.Load(), "starts are unknown")
	require.Positive(t, ends.Load())
	require.LessOrEqual(t, unknown.Load(), int64(dirs*rounds/20))
	text, err := os.ReadFile(effects)
	require.NoError(t, err)
	ran := strings.Fields(string(text))
	slices.Sort(ran)
	require.Len(t, slices.Compact(slices.Clone(ran)), len(ran), "one has run twice")
	require.GreaterOrEqual(t, len(ran), dirs*rounds-int(unknown.Load()))
}

func TestStop(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, &prockeep.Options{Local: proclocal.Options{StopGrace: 100 * time.Millisecond}})
	other := open(t, dir, nil)
	pid := keeperPID(t, k)
	victim := begin(t, k, "x", "trap '' TERM; echo ready; sleep 1000 & wait").Process.PID
	require.NoError(t, k.Stop(t.Context()))
	require.False(t, alive(victim))
	require.Eventually(t, func() bool { return !alive(pid) }, long, time.Millisecond)
	require.NoFileExists(t, filepath.Join(dir, "keeper"))
	_, err := k.List(t.Context(), procmgr.ListRequest{})
	require.ErrorIs(t, err, procmgr.ErrClosed)
	require.NoError(t, k.Stop(t.Context()), "nothing runs")

	require.NotEqual(t, pid, keeperPID(t, other), "it has started another keeper")
}

// While a keeper ends its processes, the directory is free for another one.
func TestOpenDuringAStop(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, &prockeep.Options{Local: proclocal.Options{StopGrace: long}})
	file := filepath.Join(t.TempDir(), "go")
	begin(t, k, "x", "trap '' TERM; echo ready; while [ ! -e "+file+" ]; do sleep 0.01; done")
	stopped := make(chan error, 1)
	go func() { stopped <- k.Stop(context.Background()) }()
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "keeper")); return err != nil }, long, time.Millisecond)

	other := open(t, dir, nil)
	out, err := other.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "echo another; sleep 0.1", Wait: long})
	require.NoError(t, err)
	require.Equal(t, "another\n", out.Text)
	select {
	case err := <-stopped:
		t.Fatal("the first keeper has ended already", err)
	default:
	}
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, <-stopped)
	again, err := other.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "echo another; sleep 0.1"})
	require.NoError(t, err)
	require.True(t, again.Attached)
	require.FileExists(t, filepath.Join(dir, "journal"), "it is the other keeper's")
}

func TestClose(t *testing.T) {
	dir := newDir(t)
	k, other := open(t, dir, nil), open(t, dir, nil)
	begin(t, k.Chat("a"), "x", "echo ready; exec sleep 1000")
	require.NoError(t, k.Close())
	require.NoError(t, k.Close())
	_, err := k.Chat("a").Output(t.Context(), "x", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrClosed)
	out, err := other.Chat("a").Output(t.Context(), "x", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
}

// SIGTERM ends the processes first, as a service manager has it. A hangup is no
// end.
func TestSignals(t *testing.T) {
	k := open(t, newDir(t), nil)
	pid := keeperPID(t, k)
	victim := begin(t, k, "x", "echo ready; exec sleep 1000").Process.PID
	require.NoError(t, syscall.Kill(pid, syscall.SIGHUP))
	run(t, k, "true")
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	require.Eventually(t, func() bool { return !alive(pid) }, long, time.Millisecond)
	require.False(t, alive(victim))
}

// Open can be called off, and leaves nothing behind.
func TestOpenIsCalledOff(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		k, err := prockeep.Open(ctx, newDir(t), &prockeep.Options{Idle: lifetime})
		cancel()
		if err == nil {
			require.NoError(t, k.Stop(t.Context()))
		} else {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	}
}
