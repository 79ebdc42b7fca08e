package proclocal_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
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
