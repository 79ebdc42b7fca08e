package proclocal_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A process that runs and prints nothing takes no thread, and at most 12 KiB.
func TestHeldIdle(t *testing.T) {
	testenv.Held(t)
	if !inProgram(t) { // a Go program gives no thread back
		t.Parallel()
		runProgram(t, program(t))
		return
	}
	// Its end is not measured, and a busy machine needs more than the 5 s of a kill.
	l := newLocal(t, &proclocal.Options{MaxRunning: -1, StopGrace: time.Minute})
	// What a program needs only once, such as the threads that fork, is no cost of a process.
	byCallers(make([]struct{}, 10*callers), func(struct{}) { assert.NoError(t, runTrue(l)) })
	n := testenv.Rounds(1000, 3000)
	threads, resident := measure(t)
	startSleeping(t, l, n)
	threadsNow, residentNow := measure(t)
	t.Logf("%d processes took %d threads and %d KiB", n, threadsNow-threads, residentNow-resident)
	require.Less(t, threadsNow-threads, 10, "threads")
	require.LessOrEqual(t, residentNow-resident, 12*n)
}

// measure gives back the memory that is free, and returns how many threads this program
// has and how many KiB.
func measure(t testing.TB) (threads, resident int) {
	for range 2 { // an object in a sync.Pool survives one collection
		debug.FreeOSMemory()
	}
	return status(t, "Threads"), status(t, "VmRSS")
}

// status reads a number from /proc/self/status, see proc_pid_status(5).
func status(t testing.TB, name string) (n int) {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "\n"+name+":")
	_, err = fmt.Sscan(rest, &n)
	require.NoError(t, err, name)
	return n
}

// They take less than 5 % of a processor.
func TestHeldWaitingTerminals(t *testing.T) {
	testenv.Held(t)
	t.Parallel() // programs of their own
	n := testenv.Rounds(300, 1000)
	for _, tt := range []struct {
		name, command string
		waiting       int
	}{
		{"waiting", "printf '> '; read -r x", n},
		{"silent", "printf '> '; exec sleep 600", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !inProgram(t) {
				cmd := program(t)
				cmd.Args = append(cmd.Args, "-test.timeout=10m")
				runProgram(t, cmd)
				return
			}
			share := waitingTerminals(t, n, tt.command, tt.waiting)
			t.Logf("%d terminals: %.2f %% of a processor", n, 100*share)
			require.Less(t, share, 0.05)
		})
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
