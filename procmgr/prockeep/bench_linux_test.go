package prockeep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A tool call through a keeper, beside the plainest way to run the same command in
// the same shell. A program, its keeper and each command have sessions of their own.
// So with autogroup they have scheduling groups of their own, see sched(7), unless
// the program is in a cgroup that has the cpu controller.
func BenchmarkExecuteTrue(b *testing.B) {
	b.Run("autogroup", benchmarkExecuteTrue)
	b.Run("cgroup", func(b *testing.B) {
		b.Cleanup(testenv.CPUGroup())
		benchmarkExecuteTrue(b)
	})
}

func benchmarkExecuteTrue(b *testing.B) {
	shell := []string{"sh", "-c"} // bash would hide what a call costs
	k := open(b, newDir(b), &prockeep.Options{Local: proclocal.Options{Shell: shell}})
	set := toolset.New(toolset.Static(k.Chat("a")), nil)
	call := toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"true"}`)}
	beside.Run(b, func() {
		result := set.Call(context.Background(), call)
		require.False(b, result.IsError, result.Content)
	}, func() {
		_, err := exec.Command(shell[0], shell[1], "true").CombinedOutput()
		require.NoError(b, err)
	})
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// small is a program that does nothing but keep processes.
const small = `package main

import "github.com/toolproc/toolproc/procmgr/prockeep"

func main() { prockeep.Main() }
`

// smallProgram builds it, and returns its path.
func smallProgram(b *testing.B) string {
	b.Helper()
	source := filepath.Join(b.TempDir(), "main.go")
	require.NoError(b, os.WriteFile(source, []byte(small), 0o600))
	path := filepath.Join(b.TempDir(), "small")
	out, err := exec.CommandContext(b.Context(), "go", "build", "-o", path, source).CombinedOutput()
	require.NoError(b, err, "%s", out)
	return path
}

// The memory of the keeper of a small program: alone, with 100 processes when it
// has just started them, and after nobody has asked for a moment.
func BenchmarkMemory(b *testing.B) {
	const processes = 100
	path := smallProgram(b)
	for b.Loop() {
		k := open(b, newDir(b), &prockeep.Options{Path: path, Local: proclocal.Options{MaxRunning: -1}})
		pid := keeperPID(b, k)
		b.ReportMetric(memory(b, pid), "MB-alone")
		for i := range processes {
			begin(b, k, fmt.Sprintf("p%d", i), "echo ready; exec sleep 1000")
		}
		most := memory(b, pid)
		b.ReportMetric(most, "MB-started-100")
		settled := most
		for until := time.Now().Add(3 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
			settled = min(settled, memory(b, pid))
		}
		b.ReportMetric(settled, "MB-with-100")
		b.ReportMetric(memory(b, parentOf(b, pid)), "MB-holder")
		require.NoError(b, k.Stop(context.Background()))
	}
	b.ReportMetric(0, "ns/op") // it is mostly the time of the preparation
}

// An upgrade, and the longest time that a call took meanwhile, with 20 processes.
func BenchmarkUpgrade(b *testing.B) {
	path := smallProgram(b)
	k := open(b, newDir(b), &prockeep.Options{Path: path, Local: proclocal.Options{MaxRunning: -1}})
	for i := range 20 {
		begin(b, k, fmt.Sprintf("p%d", i), "echo ready; exec sleep 1000")
	}
	var gaps, usual []time.Duration
	for b.Loop() {
		done := make(chan error, 1)
		go func() { done <- k.Upgrade(b.Context()) }()
		var longest time.Duration
		for over := false; !over; {
			began := time.Now()
			_, err := k.List(b.Context(), procmgr.ListRequest{})
			took := time.Since(began)
			require.NoError(b, err)
			longest, usual = max(longest, took), append(usual, took)
			select {
			case err := <-done:
				require.NoError(b, err)
				over = true
			default:
			}
		}
		gaps = append(gaps, longest)
	}
	b.ReportMetric(float64(median(gaps).Microseconds())/1000, "ms-gap")
	b.ReportMetric(float64(median(usual).Microseconds())/1000, "ms-call")
}

// memory returns the megabytes that a process has in memory.
func memory(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(b, err)
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(kib)[0])
			require.NoError(b, err)
			return float64(n) / 1000 * 1.024
		}
	}
	b.Fatal("the system does not tell")
	return 0
}
