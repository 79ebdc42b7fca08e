package osproc_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// Follow returns when the tree is abandoned before that or meanwhile, and the tree lives
// on.
func TestAbandon(t *testing.T) {
	s := open(t, osproc.Config{})
	for i := range 20 {
		c := start(t, s, "sh", "-c", "echo ready; exec sleep 1000")
		if i%2 == 1 {
			eventually(t, "it is followed", func() bool { return c.output() == "ready\n" })
		}
		c.Abandon()
		require.True(t, c.wait(t).Lost)
		require.NoError(t, syscall.Kill(c.PID(), syscall.SIGKILL))
		var status unix.WaitStatus
		_, err := unix.Wait4(c.PID(), &status, 0, nil)
		require.NoError(t, err)
	}
}

// Another part of the program may wait for any child, and so be told that a
// child has stopped at its exec. Starts go on.
func TestStartsBesideAReaper(t *testing.T) {
	s := open(t, osproc.Config{})
	over := make(chan struct{})
	done := make(chan struct{})
	go func() { // waited for below
		defer close(done)
		for {
			select {
			case <-over:
				return
			default:
				var status unix.WaitStatus
				_, _ = unix.Wait4(-1, &status, unix.WNOHANG, nil)
			}
		}
	}()
	for range 300 {
		start(t, s, "true").wait(t)
	}
	close(over)
	<-done
}

// adopt makes this program the parent of orphans, as PID 1 is.
func adopt(t *testing.T) {
	t.Helper()
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	t.Cleanup(func() { require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) })
}

// If this program is PID 1 or a subreaper, it reaps the orphans it adopts from a
// command, and no other child.
func TestAdoptedOrphansAreReaped(t *testing.T) {
	adopt(t)
	stranger := exec.Command("true")
	require.NoError(t, stranger.Start())
	s := open(t, osproc.Config{})
	for _, script := range []string{
		"sleep 0.2 >/dev/null & echo $!",            // waited for as a member
		"(sh -c 'echo $$; exec true' &); sleep 0.2", // a zombie by the time of the first look
	} {
		c := start(t, s, "sh", "-c", script)
		c.wait(t)
		require.NoFileExists(t, "/proc/"+strings.TrimSpace(c.output())+"/stat", script)
	}
	c := start(t, s, "sh", "-c", "setsid sh -c 'touch out; until [ -e go ]; do sleep 0.01; done' >/dev/null 2>&1 & echo $!; until [ -e out ]; do sleep 0.01; done")
	c.left(t)
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o600))
	c.wait(t)
	require.NoFileExists(t, "/proc/"+strings.TrimSpace(c.output())+"/stat")
	require.NoError(t, stranger.Wait(), "its exit is there for the one who started it")
}

// A member that was known is ended, even if it leaves session and cookie later, with a late
// mark as well.
func TestKillReachesWhoLeavesLater(t *testing.T) {
	for _, config := range []osproc.Config{{}, {NoSlice: true}} {
		gone := filepath.Join(t.TempDir(), "gone")
		c := start(t, open(t, config), "sh", "-c", "env -i sh -c 'sleep 0.2; exec setsid sh -c \"touch "+gone+"; exec sleep 1000\"' >/dev/null 2>&1 & exit 3")
		require.Equal(t, 3, *c.left(t).Code())
		eventually(t, "it leaves the session", func() bool { _, err := os.Stat(gone); return err == nil })
		c.kill(t)
	}
}

// A process that ends with its shell, or in the 50 ms after that, was not left
// behind. On a busy machine it may take longer to end; then it is told, but only
// as long as it lives.
func TestNotDetachedForAMoment(t *testing.T) {
	s := open(t, osproc.Config{})
	for _, script := range []string{"exec > >(cat); echo x", "(sleep .005; echo late) & echo now", "true & true", "nosuch & true"} {
		early, late := 0, 0
		for range 25 {
			began := time.Now()
			tree, err := s.Start(osproc.Command{Argv: []string{"bash", "-c", script}, Dir: "/", Env: os.Environ(), Output: &command{system: s}})
			require.NoError(t, err)
			_, _ = tree.Follow(func(osproc.Exit) {
				if time.Since(began) < 50*time.Millisecond {
					early++
				}
				if !sessionLives(tree.PID()) {
					late++
				}
			})
			tree.Release()
		}
		require.Zero(t, early, "%s: it was told within the 50 ms", script)
		require.Less(t, late, 5, "%s: it had gone when it was told, and not just then", script)
	}
}

// sessionLives reports whether a process of a session lives.
func sessionLives(session int) bool {
	entries, _ := os.ReadDir("/proc")
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			return false
		}
		sid, err := unix.Getsid(pid)
		return err == nil && sid == session && alive(e.Name())
	})
}

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

// A command that starts many children at once has all of them marked, even if it
// could not be marked before it ran.
func TestHeldLateMark(t *testing.T) {
	testenv.Held(t)
	times := testenv.Rounds(40, 200)
	testenv.Programs(t, "setsid")
	s := open(t, osproc.Config{NoSlice: true})
	missed := 0
	for range times {
		c := begin(t, s, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do env -i setsid sleep 1000 >/dev/null 2>&1 & echo $!; done; echo ready; wait")
		children := regexp.MustCompile(`(?m)^\d+$`).FindAllString(c.output(), -1)
		require.Len(t, children, 20)
		_, err := s.Signal([]*osproc.Tree{c.Tree}, syscall.SIGKILL)
		require.NoError(t, err)
		c.wait(t)
		for _, child := range children {
			if !alive(child) {
				continue
			}
			missed++
			pid, err := strconv.Atoi(child)
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	require.LessOrEqual(t, missed, times/10, "of 20 children each time; a few may get away on a busy machine")
}
