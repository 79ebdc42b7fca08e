package proclocal_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The cost of a process that runs and prints nothing, beside its cost with
// os/exec. Each side is measured in a program of its own, because a Go program
// gives no thread back.
func BenchmarkIdle(b *testing.B) {
	n := 3 * thousand()
	var ours, theirs []gauge
	for b.Loop() {
		ours = append(ours, played[gauge](b, "idle-local", n))
		theirs = append(theirs, played[gauge](b, "idle-plain", n))
	}
	middle := func(side []gauge, f func(gauge) int) float64 {
		xs := make([]int, len(side))
		for i, g := range side {
			xs[i] = f(g)
		}
		return float64(beside.Median(xs))
	}
	resident := func(g gauge) int { return g.Resident }
	b.ReportMetric(middle(ours, resident)/middle(theirs, resident), "ratio")
	for _, side := range []struct {
		name   string
		gauges []gauge
	}{{"ours", ours}, {"theirs", theirs}} {
		each := func(f func(gauge) int) float64 { return middle(side.gauges, f) / float64(n) / 1024 }
		b.ReportMetric(middle(side.gauges, func(g gauge) int { return g.Threads }), "threads-"+side.name)
		b.ReportMetric(each(resident), "KiB-"+side.name)
		b.ReportMetric(each(func(g gauge) int { return g.Go }), "KiB-Go-"+side.name)
	}
	b.ReportMetric(0, "ns/op")
}

func idleLocal(t *testing.T, n int) gauge {
	// Its end is not measured, and a busy machine needs more than the 5 s of a kill.
	l := newLocal(t, &proclocal.Options{MaxRunning: -1, MaxRunningPerChat: -1, StopGrace: time.Minute})
	warmUp(t, func() error { return runTrue(l) })
	before := measure(t)
	startSleeping(t, l, n)
	return measure(t).minus(before)
}

func idlePlain(t *testing.T, n int) gauge {
	warmUp(t, runPlainTrue)
	before := measure(t)
	startPlain(t, n)
	return measure(t).minus(before)
}

// warmUp runs some commands. A resource that a program needs only once, such as
// the threads that fork, is no cost of a process.
func warmUp(t *testing.T, run func() error) {
	byCallers(make([]struct{}, 10*callers), func(struct{}) { assert.NoError(t, run()) })
}

// A gauge has the resources that a program holds at one moment.
type gauge struct {
	Threads  int
	Resident int // bytes of memory, as the system counts them
	Go       int // bytes of that which are heap and stacks in use
}

func (g gauge) minus(other gauge) gauge {
	return gauge{g.Threads - other.Threads, g.Resident - other.Resident, g.Go - other.Go}
}

// measure first gives back the memory that is free.
func measure(t testing.TB) gauge {
	for range 2 { // an object in a sync.Pool survives one collection
		debug.FreeOSMemory()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return gauge{
		Threads:  status(t, "Threads"),
		Resident: status(t, "VmRSS") << 10,
		Go:       int(m.HeapInuse + m.StackInuse),
	}
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
	t.Parallel() // a program of its own
	n := testenv.Rounds(300, 1000)
	for _, kind := range []string{"waiting", "silent"} {
		share := played[float64](t, kind+"-terminals", n)
		t.Logf("%d %s terminals: %.2f %% of a processor", n, kind, 100*share)
		require.Less(t, share, 0.05, kind)
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
