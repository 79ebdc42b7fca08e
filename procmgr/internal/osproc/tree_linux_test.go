package osproc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// untilOut makes a script wait until there is a file.
const untilOut = "while [ ! -e out ]; do sleep 0.01; done"

// Follow does not wait for a member that has left its session and let go of the
// pipe. A search finds it, and a signal reaches it.
func TestSearch(t *testing.T) {
	systems(t, func(t *testing.T, s *osproc.System) {
		stays := start(t, s, "sh", "-c", "exit 4")
		leaves := start(t, s, "sh", "-c", "setsid sh -c ': >out; exec sleep 1000' >/dev/null 2>&1 & "+untilOut+"; exit 3")
		require.Equal(t, 3, *leaves.wait(t).Code())
		stays.wait(t)
		require.False(t, leaves.Sealed())
		found, looked := s.Search([]*osproc.Tree{stays.Tree, leaves.Tree})
		require.True(t, looked)
		require.Len(t, found, 1)
		followed := make(chan bool, 1)
		go func() { followed <- found[leaves.Tree].Follow() }() // waited for below
		live, err := s.Signal([]*osproc.Tree{leaves.Tree}, syscall.SIGTERM)
		require.NoError(t, err)
		require.Len(t, live.Live[leaves.Tree], 1)
		select {
		case whole := <-followed:
			require.True(t, whole)
		case <-time.After(long):
			require.Fail(t, "its end is not seen")
		}
		found, looked = s.Search([]*osproc.Tree{leaves.Tree})
		require.True(t, looked)
		require.Empty(t, found)
	})
}

// A caller that asks for the end hears of it when the members that left the
// session have gone too.
func TestWantedEndIsWhole(t *testing.T) {
	systems(t, func(t *testing.T, s *osproc.System) {
		c := begin(t, s, "setsid sleep 1000 >/dev/null 2>&1 & echo $!; echo ready; exec sleep 1000")
		child := number.FindString(c.output())
		c.Want()
		require.NoError(t, syscall.Kill(c.PID(), syscall.SIGKILL))
		select {
		case <-c.gone:
			require.False(t, alive(child), "the end was told while a part of the tree lived")
		case <-c.detached:
		}
		c.kill(t)
		require.False(t, alive(child))
	})
}

// Follow returns when the tree is abandoned, and the tree lives on.
func TestAbandon(t *testing.T) {
	systems(t, func(t *testing.T, s *osproc.System) {
		c := begin(t, s, "echo ready; exec sleep 1000")
		c.Abandon()
		require.True(t, c.wait(t).Lost)
		require.NoError(t, syscall.Kill(c.PID(), 0))
		c.reap(t)
	})
}

// reap ends the leader of a tree that was abandoned.
func (c *command) reap(t testing.TB) {
	t.Helper()
	require.NoError(t, syscall.Kill(c.PID(), syscall.SIGKILL))
	p, err := os.FindProcess(c.PID())
	require.NoError(t, err)
	_, err = p.Wait()
	require.NoError(t, err)
}

// A tree can be abandoned before it is watched, and meanwhile.
func TestAbandonRacesWatch(t *testing.T) {
	systems(t, func(t *testing.T, s *osproc.System) {
		for range 20 {
			c := start(t, s, "sleep", "1000")
			c.Abandon()
			require.True(t, c.wait(t).Lost)
			c.reap(t)
		}
	})
}

// Several trees are signalled at once, and each has its own answer.
func TestSignalMany(t *testing.T) {
	s := open(t, osproc.Config{})
	a := begin(t, s, "echo ready; exec sleep 1000")
	b := begin(t, s, "echo ready; exec sleep 1000")
	over := start(t, s, "true")
	over.wait(t)
	live, err := s.Signal([]*osproc.Tree{a.Tree, over.Tree, b.Tree}, syscall.SIGCONT)
	require.NoError(t, err)
	require.Len(t, live.Live, 2)
	require.Equal(t, []int{a.PID()}, live.Live[a.Tree])
	require.Equal(t, []int{b.PID()}, live.Live[b.Tree])
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

// If another part of the program has reaped a leader, its exit code is lost,
// and nothing hangs.
func TestLost(t *testing.T) {
	s := open(t, osproc.Config{})
	for range 20 {
		c := begin(t, s, "echo ready; exec sleep 1000")
		require.NoError(t, syscall.Kill(c.PID(), syscall.SIGKILL))
		var status unix.WaitStatus
		_, err := unix.Wait4(c.PID(), &status, 0, nil)
		end := c.wait(t)
		if err == nil {
			require.True(t, end.Lost)
			require.Nil(t, end.Code())
			return
		}
		require.Equal(t, syscall.SIGKILL, end.Signal)
	}
	t.Log("the System was always first")
}

// adopt makes this program the parent of orphans, as PID 1 is.
func adopt(t *testing.T) {
	t.Helper()
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	t.Cleanup(func() { require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) })
}

// Zombies are no members. If nobody reaps orphans, as under a PID 1 that does
// not, a tree still ends.
func TestZombiesAreNoMembers(t *testing.T) {
	adopt(t)
	s := open(t, osproc.Config{NoPidfd: true}) // so that the System does not reap them either
	c := start(t, s, "sh", "-c", "sh -c '"+untilOut+"' >/dev/null & echo $!")
	c.left(t)
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "out"), nil, 0o600))
	orphan := strings.TrimSpace(c.output())
	c.wait(t)
	stat, err := os.ReadFile("/proc/" + orphan + "/stat")
	require.NoError(t, err, "the orphan is this program's, which has not reaped it")
	require.Contains(t, string(stat), ") Z ")
	reap(t, orphan)
}

// If this program is PID 1 or a subreaper, it reaps the processes that it
// adopts from a command, and nobody else's child.
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
	c := start(t, s, "sh", "-c", "setsid sh -c 'touch out; until [ -e go ]; do sleep 0.01; done' >/dev/null 2>&1 & echo $!; "+untilOut)
	c.wait(t)
	orphan := strings.TrimSpace(c.output())
	found, looked := s.Search([]*osproc.Tree{c.Tree})
	require.True(t, looked)
	require.NotNil(t, found[c.Tree])
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o600))
	require.True(t, found[c.Tree].Follow())
	require.NoFileExists(t, "/proc/"+orphan+"/stat")
	require.NoError(t, stranger.Wait(), "its exit is there for the one who started it")
}

// reap reaps a child that this program has adopted.
func reap(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	_, err = unix.Wait4(n, nil, 0, nil)
	require.NoError(t, err)
}

// A member that was known is ended, even if it leaves session and cookie later.
func TestKillReachesWhoLeavesLater(t *testing.T) {
	s := open(t, osproc.Config{})
	gone := filepath.Join(t.TempDir(), "gone")
	c := start(t, s, "sh", "-c", "env -i sh -c 'sleep 0.2; exec setsid sh -c \"touch "+gone+"; exec sleep 1000\"' >/dev/null 2>&1 & exit 3")
	c.left(t)
	eventually(t, "it leaves the session", func() bool { _, err := os.Stat(gone); return err == nil })
	c.kill(t)
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
