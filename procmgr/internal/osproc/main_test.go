package osproc_test

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// TestMain fails the run if the tests leave goroutines, children or descriptors
// behind.
func TestMain(m *testing.M) { os.Exit(leftover.Run(m, "procmgr/internal/osproc")) }

// long is a wait that a test reaches only if something is wrong.
const long = 2 * time.Minute

// open returns a System that the test closes.
func open(t testing.TB, c osproc.Config) *osproc.System {
	t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := osproc.Open(c)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// A command is a tree that a test follows, and its Sink.
type command struct {
	*osproc.Tree
	system   *osproc.System
	dir      string           // the directory in which it runs
	detached chan osproc.Exit // gets an Exit if the leader has left something
	gone     chan struct{}    // closed when nothing is left
	end      osproc.Exit      // set before gone is closed

	mu    sync.Mutex // guards the fields below
	text  []byte
	ended bool
}

func (c *command) Add(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
}

func (c *command) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

// output returns the text that the tree has printed until now.
func (c *command) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}

// start starts a command and follows it. The test ends it.
func start(t testing.TB, s *osproc.System, argv ...string) *command {
	t.Helper()
	c := &command{system: s, dir: t.TempDir(), detached: make(chan osproc.Exit, 1), gone: make(chan struct{})}
	var err error
	c.Tree, err = s.Start(osproc.Command{Argv: argv, Dir: c.dir, Env: os.Environ(), Output: c})
	require.NoError(t, err)
	go func() { // the cleanup waits for it
		defer close(c.gone)
		c.end, _ = c.Follow(func(e osproc.Exit) { c.detached <- e })
		c.Release()
	}()
	t.Cleanup(func() { c.kill(t) })
	return c
}

// begin starts a script and returns when the script has printed "ready".
func begin(t testing.TB, s *osproc.System, script string) *command {
	t.Helper()
	c := start(t, s, "sh", "-c", script)
	eventually(t, "it gets ready", func() bool { return strings.Contains(c.output(), "ready\n") })
	return c
}

// left waits until the leader has exited and has left something.
func (c *command) left(t testing.TB) osproc.Exit {
	t.Helper()
	select {
	case e := <-c.detached:
		return e
	case <-c.gone:
		select {
		case e := <-c.detached:
			return e
		default:
		}
		require.Fail(t, "nothing was left", "%v %q", c.end, c.output())
	case <-time.After(long):
		require.Fail(t, "the leader does not exit")
	}
	return osproc.Exit{}
}

// wait waits until nothing is left.
func (c *command) wait(t testing.TB) osproc.Exit {
	t.Helper()
	select {
	case <-c.gone:
	case <-time.After(long):
		require.Fail(t, "it does not end", c.output())
	}
	return c.end
}

// kill repeats SIGKILL until nothing is left.
func (c *command) kill(t testing.TB) osproc.Exit {
	t.Helper()
	for over := time.Now().Add(long); ; {
		select {
		case <-c.gone:
			return c.end
		default:
		}
		_, _ = c.system.Signal([]*osproc.Tree{c.Tree}, osproc.SIGKILL)
		select {
		case <-c.gone:
		case <-time.After(10 * time.Millisecond):
		}
		require.Less(t, time.Now(), over, "it cannot be killed")
	}
}

// alive reports whether a process lives; a zombie does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// eventually waits for something that has no channel of its own.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, long, 2*time.Millisecond, what)
}
