package proclocal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// soakFor is how long the soak lasts; TOOLPROC_SOAK=10m makes it longer.
func soakFor(t *testing.T) time.Duration {
	text := os.Getenv("TOOLPROC_SOAK")
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// Several chats do for a while all that a chat can do: nothing grows, and
// nothing is left.
func TestSoak(t *testing.T) {
	if !inProgram(t) {
		t.Parallel()
		cmd := program(t)
		cmd.Args = append(cmd.Args, "-test.timeout="+(soakFor(t)+2*time.Minute).String())
		runProgram(t, cmd)
		return
	}
	marker := "toolproc-soak-" + procmgr.NewID()
	t.Cleanup(func() { killMarked(marker) })
	l, err := proclocal.New(&proclocal.Options{
		Retain:            200 * time.Millisecond,
		OutputMemory:      1 << 20,
		MaxRunningPerChat: 8,
		StopGrace:         100 * time.Millisecond,
	})
	require.NoError(t, err)
	s := &soak{local: l, marker: marker}
	s.run(t, soakFor(t)/4) // resources that are needed once are there then
	s.settle(t)
	descriptors, goroutines, memory := countDescriptors(), runtime.NumGoroutine(), liveMemory()
	s.run(t, soakFor(t)*3/4)
	s.settle(t)
	assert.LessOrEqual(t, countDescriptors(), descriptors)
	// The goroutine in which settle has looked may be about to end.
	for began := time.Now(); runtime.NumGoroutine() > goroutines && time.Since(began) < long; {
		runtime.Gosched()
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	// A tombstone is a few hundred bytes, and there are 16,384 at most.
	assert.Less(t, liveMemory(), memory+1<<20+1<<10*min(s.started.Load(), remembered))
	require.Empty(t, leftover.Children())
	require.Empty(t, marked(marker))
	require.NoError(t, l.Close())
	t.Logf("%d started, %d refused, %d ended, %d reads; memory %d → %d", s.started.Load(), s.refused.Load(), s.ended.Load(), s.reads.Load(), memory, liveMemory())
	require.Positive(t, s.ended.Load())
}

type soak struct {
	local                          *proclocal.Local
	marker                         string
	started, refused, ended, reads atomic.Int64
}

// run lets four chats work for a while.
func (s *soak) run(t *testing.T, d time.Duration) {
	var group sync.WaitGroup
	until := time.Now().Add(d)
	for i := range 4 {
		group.Go(func() {
			chat := s.local.Chat(fmt.Sprint("chat", i))
			r := rand.New(rand.NewPCG(uint64(i), uint64(d)))
			var ids []string
			for time.Now().Before(until) && !t.Failed() {
				ids = s.step(t, chat, r, ids)
			}
		})
	}
	group.Wait()
}

var soaked = []string{
	"true",
	"echo hello; exit 3",
	"seq 1 50000",
	"sleep 0.05 & echo left",
	"setsid sleep 0.3 >/dev/null 2>&1 &",
	"sleep 1000 & sleep 1000 & exec sleep 1000",
	"trap '' TERM INT; while :; do sleep 0.05; done",
	"while echo more; do sleep 0.02; done",
	"exec >&- 2>&-; exec sleep 1000",
	"kill -SEGV $$",
	"(sleep 1000 | cat) & setsid sleep 1000 & exit 9",
}

// step does one thing that a chat can do.
func (s *soak) step(t *testing.T, chat procmgr.Manager, r *rand.Rand, ids []string) []string {
	ctx := context.Background()
	some := func() string { return ids[r.IntN(len(ids))] }
	switch n := r.IntN(10); {
	case n < 5 || len(ids) == 0:
		out, err := chat.Start(ctx, procmgr.StartRequest{
			Command: soaked[r.IntN(len(soaked))],
			Env:     map[string]string{"MARKER": s.marker},
			Wait:    time.Duration(r.IntN(20)) * time.Millisecond,
		})
		switch {
		case errors.Is(err, procmgr.ErrLimit):
			s.refused.Add(1)
			page, err := chat.List(ctx, procmgr.ListRequest{})
			all := page.Processes
			assert.NoError(t, err)
			for _, p := range all {
				s.stop(t, chat, p.ID, procmgr.Kill)
			}
		case assert.NoError(t, err):
			s.started.Add(1)
			ids = append(ids, out.Process.ID)
		}
	case n < 8:
		_, err := chat.Output(ctx, some(), procmgr.OutputRequest{
			From:  int64(r.IntN(3) * 1000),
			Wait:  time.Duration(r.IntN(10)) * time.Millisecond,
			Until: []string{"", ".", "more|99$"}[r.IntN(3)],
		})
		assert.NoError(t, err, "an ID once given is never unknown")
		s.reads.Add(1)
	default:
		s.stop(t, chat, some(), []procmgr.Signal{procmgr.Terminate, procmgr.Interrupt, procmgr.Kill}[r.IntN(3)])
	}
	return ids[max(0, len(ids)-100):]
}

func (s *soak) stop(t *testing.T, chat procmgr.Manager, id string, sig procmgr.Signal) {
	if err := chat.Signal(context.Background(), id, sig); err == nil {
		s.ended.Add(1)
	} else {
		assert.ErrorIs(t, err, procmgr.ErrNotRunning)
	}
}

// settle ends all processes and waits until nothing is left of them.
func (s *soak) settle(t *testing.T) {
	t.Helper()
	eventually(t, "nothing is left", func() bool {
		all := list(t, s.local)
		for _, p := range all {
			if err := s.local.Signal(t.Context(), p.ID, procmgr.Kill); err != nil {
				require.ErrorIs(t, err, procmgr.ErrNotRunning)
			}
		}
		return len(all) == 0 && len(leftover.Children()) == 0 && len(marked(s.marker)) == 0 && goroutines() == ""
	})
}

// liveMemory returns the memory that the program keeps, in bytes.
func liveMemory() int64 {
	runtime.GC()
	runtime.GC() // the second frees the objects of a sync.Pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
