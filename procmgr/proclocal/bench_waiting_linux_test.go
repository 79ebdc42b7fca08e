package proclocal_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The share of a processor that 1,000 terminals take whose programs wait for input, and
// 1,000 whose programs are silent, while somebody follows the events.
func BenchmarkWaitingTerminals(b *testing.B) {
	for _, kind := range []string{"waiting", "silent"} {
		b.Run(kind, func(b *testing.B) {
			share := 0.0
			for b.Loop() {
				share = played[float64](b, kind+"-terminals", thousand())
			}
			b.ReportMetric(100*share, "%-of-a-processor")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// They take less than 1 % of a processor.
func TestHeldWaitingTerminals(t *testing.T) {
	testenv.Held(t)
	t.Parallel() // a program of its own
	n := testenv.Rounds(300, 1000)
	for _, kind := range []string{"waiting", "silent"} {
		share := played[float64](t, kind+"-terminals", n)
		t.Logf("%d %s terminals: %.2f %% of a processor", n, kind, 100*share)
		require.Less(t, share, 0.01, kind)
	}
}

// waitingTerminals starts n terminals, waits until so many of them wait for input, as
// events tell, and until looks are rare. It returns the share of a processor that this
// program then takes.
func waitingTerminals(t *testing.T, n int, command string, waiting int) float64 {
	l := newLocal(t, &proclocal.Options{MaxRunning: -1, StopGrace: time.Minute})
	latest, err := l.Events(t.Context(), procmgr.EventsRequest{Limit: -1})
	require.NoError(t, err)
	ids := make([]string, n)
	for i := range ids {
		out, err := l.Start(context.Background(), procmgr.StartRequest{Command: command, Stdin: procmgr.StdinTerminal})
		require.NoError(t, err)
		ids[i] = out.Process.ID
	}
	for _, id := range ids {
		ready(t, l, id, "^> $")
	}
	at, seen := latest.Next, 0
	follow := func(until time.Time) {
		wait := time.Until(until)
		page, err := l.Events(t.Context(), procmgr.EventsRequest{After: at, Wait: wait, Limit: -1})
		require.NoError(t, err)
		at = page.Next
		for _, e := range page.Events {
			if e.Kind == procmgr.EventWaiting {
				seen++
			}
		}
	}
	for begun := time.Now(); seen < waiting; {
		require.Less(t, time.Since(begun), long)
		follow(time.Now().Add(time.Second))
	}
	for settled := time.Now().Add(12 * time.Second); time.Now().Before(settled); {
		follow(settled)
	}
	least := 1.0 // of three times: the machine has other work
	for range 3 {
		before, began := processorTime(t), time.Now()
		for end := began.Add(6 * time.Second); time.Now().Before(end); {
			follow(end)
		}
		least = min(least, float64(processorTime(t)-before)/float64(time.Since(began)))
	}
	require.Equal(t, waiting, seen)
	require.Less(t, status(t, "Threads"), 100, "no terminal takes a thread")
	return least
}

// processorTime is how long this program has run on a processor.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
