package osproc_test

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// A leader that another program traces exits for that program first. Its end is
// told when that program has let go of it, and is not lost.
func TestTracedLeader(t *testing.T) {
	testenv.Programs(t, "python3")
	c := begin(t, open(t, osproc.Config{}), "echo ready; exec sleep 1000")
	const seize = `
import ctypes, sys
if ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0): # PTRACE_SEIZE
    sys.exit("it cannot be traced")
print("traced", flush=True)
sys.stdin.read()`
	tracer := exec.Command("python3", "-c", seize, strconv.Itoa(c.PID()))
	stdin, err := tracer.StdinPipe()
	require.NoError(t, err)
	stdout, err := tracer.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, tracer.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "traced\n", line)

	require.NoError(t, unix.Kill(c.PID(), unix.SIGKILL))
	eventually(t, "it is dead", func() bool { return !alive(strconv.Itoa(c.PID())) })
	select {
	case <-c.gone:
		require.Fail(t, "its end is told before it can be known")
	case <-time.After(20 * time.Millisecond):
	}
	require.NoError(t, stdin.Close())
	require.NoError(t, tracer.Wait())
	end := c.wait(t)
	require.False(t, end.Lost)
	require.Equal(t, "SIGKILL", end.SignalName())
}

// Trees that do nothing cost no goroutine, however many there are.
func TestNoGoroutineForATree(t *testing.T) {
	s := open(t, osproc.Config{})
	before := leftover.Goroutines("internal/osproc")
	var trees []*osproc.Tree
	var ended sync.WaitGroup
	for range 20 {
		tree, err := s.Start(osproc.Command{Argv: []string{"sleep", "1000"}, Dir: "/", Output: &command{}})
		require.NoError(t, err)
		trees = append(trees, tree)
		ended.Add(1)
		tree.Watch(func() {
			defer ended.Done()
			tree.Finish(func(osproc.Exit) {})
			tree.Release()
		})
	}
	// One that ends just now, of a test before this one, may be among those before.
	require.LessOrEqual(t, stacks(leftover.Goroutines("internal/osproc")), stacks(before))
	for _, tree := range trees {
		tree.Want()
	}
	s.KillGroups(trees)
	ended.Wait()
}

// What is called at the end of a tree may take long, and holds up no other end.
func TestEndsDoNotWaitForEachOther(t *testing.T) {
	s := open(t, osproc.Config{})
	for _, script := range []string{"exec sleep 1000", "true"} { // they end together, or each in its time
		const n = 20
		var called, returned sync.WaitGroup
		called.Add(n)
		var trees []*osproc.Tree
		for range n {
			tree, err := s.Start(osproc.Command{Argv: []string{"sh", "-c", script}, Dir: "/", Output: &command{}})
			require.NoError(t, err)
			trees = append(trees, tree)
			returned.Go(func() {
				exited := make(chan struct{})
				tree.Watch(func() {
					defer close(exited)
					called.Done()
					called.Wait() // until it has been called for all
					tree.Finish(func(osproc.Exit) {})
					tree.Release()
				})
				<-exited
			})
		}
		s.KillGroups(trees)
		returned.Wait()
	}
}

// stacks counts the goroutines in a dump.
func stacks(dump string) (n int) {
	for line := range strings.Lines(dump) {
		if strings.HasPrefix(line, "goroutine ") {
			n++
		}
	}
	return n
}
