package main_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// Through a real ssh to a real sshd, ServeStdio, Keeper.Handler and a keeper, a client is a
// Host as well.
func TestHeldHostOverSSH(t *testing.T) {
	testenv.Held(t)
	c := clientVia(t, append(testenv.SSH(t), newMachine(t).words("stdio")...))
	proctest.TestHost(t, func(*testing.T) procmgr.Host { return c })
}

// A key that is limited to toolprocd stdio runs that, in the sandbox that is named there,
// whatever the client asks for.
func TestHeldSSHWithCommand(t *testing.T) {
	testenv.Held(t)
	ssh, work, outside := testenv.SSH(t), t.TempDir(), t.TempDir()
	public := ssh[slices.Index(ssh, "-i")+1] + ".pub"
	key, err := os.ReadFile(public)
	require.NoError(t, err)
	limit := fmt.Sprintf("restrict,command=%q ", strings.Join(newMachine(t).words("stdio", "-write", work, "-no-network"), " "))
	require.NoError(t, os.WriteFile(public, append([]byte(limit), key...), 0o600))
	words := append(ssh, program(), "stdio")
	boxed(t, clientVia(t, words), filesVia(t, words), work, outside)
}

// The way is killed in the midst of a start. The call of that client goes on by
// itself. Another client is told that the ID is Attached, reads the output from
// the offset on that the first one had, and finds the end by its last cursor.
func TestWayIsKilled(t *testing.T) {
	m := newMachine(t)
	wayIsKilled(t, func(pid string) []string {
		return append([]string{"sh", "-c", "echo $$ > " + pid + `; exec "$@"`, "sh"}, m.words("stdio")...)
	})
}

func TestHeldSSHIsKilled(t *testing.T) {
	testenv.Held(t)
	m, ssh := newMachine(t), testenv.SSH(t)
	wayIsKilled(t, func(pid string) []string {
		return append(append([]string{"sh", "-c", "echo $$ > " + pid + `; exec "$@"`, "sh"}, ssh...), m.words("stdio")...)
	})
}

// wayIsKilled does this with commands that write their pid to a file.
func wayIsKilled(t *testing.T, way func(pid string) []string) {
	dir := t.TempDir()
	c := clientVia(t, way(dir+"/way"))
	latest, err := c.Chat("a").Events(t.Context(), procmgr.EventsRequest{Limit: -1})
	require.NoError(t, err)
	req := procmgr.StartRequest{
		ID: "build", Wait: long,
		Command: "echo ran >> " + dir + "/ran; echo one; while [ ! -e " + dir + "/go ]; do sleep 0.01; done; echo two; exit 3",
	}
	type answer struct {
		out procmgr.Output
		err error
	}
	got := make(chan answer, 1)
	go func() { // waited for below
		out, err := c.Chat("a").Start(t.Context(), req)
		got <- answer{out, err}
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(dir + "/ran"); return err == nil }, long, time.Millisecond)
	killed := pidOf(t, dir+"/way")
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))

	next := clientVia(t, way(dir+"/next"))
	req.Wait = 0
	out, err := next.Chat("a").Start(t.Context(), req)
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, procmgr.Running, out.Process.State)
	out, err = next.Chat("a").Output(t.Context(), "build", procmgr.OutputRequest{Wait: long, Until: "one"})
	require.NoError(t, err)
	require.Equal(t, "one\n", out.Text)
	require.NoError(t, os.WriteFile(dir+"/go", nil, 0o600))
	out, err = next.Chat("a").Output(t.Context(), "build", procmgr.OutputRequest{From: out.Next, Wait: long})
	require.NoError(t, err)
	require.Equal(t, "two\n", out.Text)
	require.Equal(t, 3, *out.Process.ExitCode)

	first := <-got
	require.NoError(t, first.err)
	require.Equal(t, "one\ntwo\n", first.out.Text)
	require.Equal(t, 3, *first.out.Process.ExitCode)
	require.NotEqual(t, killed, pidOf(t, dir+"/way"), "by another way")

	page, err := next.Chat("a").Events(t.Context(), procmgr.EventsRequest{After: latest.Next, Wait: long})
	require.NoError(t, err)
	require.False(t, page.Gap)
	var kinds []procmgr.EventKind
	for _, e := range page.Events {
		require.Equal(t, "build", e.Process.ID)
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []procmgr.EventKind{procmgr.EventStarted, procmgr.EventExited}, kinds)
	ran, err := os.ReadFile(dir + "/ran")
	require.NoError(t, err)
	require.Equal(t, "ran\n", string(ran))
}

// kubectl exec loses its connection, and answers 0. The call goes on through the
// next one, and the far side that was left behind ends.
func TestHeldLostExec(t *testing.T) {
	testenv.Held(t)
	m := newMachine(t)
	exec := testenv.NewLostExec(t, m.words("stdio")...)
	c := clientVia(t, exec.Command)
	dir := t.TempDir()
	got := make(chan error, 1)
	go func() { // waited for below
		out, err := c.Start(t.Context(), procmgr.StartRequest{ID: "once", Wait: 2 * long, Command: "echo x >> " + dir + "/ran; while [ ! -e " + dir + "/go ]; do sleep 0.01; done; exit 3"})
		if err == nil && (out.Process.ExitCode == nil || *out.Process.ExitCode != 3) {
			err = fmt.Errorf("it has no code: %+v", out)
		}
		got <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(dir + "/ran"); return err == nil }, long, time.Millisecond)
	exec.Lose()
	hello(t, c) // by another one
	require.NoError(t, os.WriteFile(dir+"/go", nil, 0o600))
	require.NoError(t, <-got)
	ran, err := os.ReadFile(dir + "/ran")
	require.NoError(t, err)
	require.Equal(t, "x\n", string(ran), "it ran once")
	exec.Lost()
}

// A fault is what happens to a connection.
type fault int

const (
	lostRequest fault = iota // it is cut as soon as something is sent
	cutRequest               // it is cut in the midst of what is sent
	lostAnswer               // it is cut as soon as something comes
	cutAnswer                // it is cut in the midst of what comes
	silence                  // nothing goes through any more, and neither side gets an error
)

func (f fault) String() string {
	return [...]string{"lost request", "cut request", "lost answer", "cut answer", "silence"}[f]
}

// A way makes connections that break.
type way struct {
	dial func(context.Context) (net.Conn, error)

	mu    sync.Mutex // guards the fields below
	now   *breaking  // the newest connection
	dials int
	plan  func() (fault, int) // for a new connection; nil: none
}

func (w *way) client(t testing.TB) *prochttp.Client {
	t.Helper()
	c, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{Retry: long, Dial: func(ctx context.Context) (net.Conn, error) {
		conn, err := w.dial(ctx)
		if err != nil {
			return nil, err
		}
		b := &breaking{Conn: conn}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now, w.dials = b, w.dials+1
		if w.plan != nil {
			b.set = true
			b.what, b.left = w.plan()
		}
		return b, nil
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// breaks lets the connection break after so many bytes.
func (w *way) breaks(what fault, after int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.mu.Lock()
	defer w.now.mu.Unlock()
	w.now.what, w.now.left, w.now.set = what, after, true
}

// A breaking is a connection with a fault.
type breaking struct {
	net.Conn

	mu   sync.Mutex // guards the fields below
	set  bool
	what fault
	left int // bytes until it breaks
}

// pass returns how many of n bytes go through, and whether the connection breaks
// then.
func (b *breaking) pass(n int, faults ...fault) (int, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range faults {
		if b.set && b.what == f {
			n = min(n, b.left)
			b.left -= n
			return n, b.left == 0
		}
	}
	return n, false
}

func (b *breaking) Write(p []byte) (int, error) {
	n, broken := b.pass(len(p), lostRequest, cutRequest, silence)
	if n > 0 {
		if _, err := b.Conn.Write(p[:n]); err != nil {
			return 0, err
		}
	}
	if broken && !b.silent() {
		_ = b.Close()
		return n, io.ErrClosedPipe
	}
	return len(p), nil
}

func (b *breaking) Read(p []byte) (int, error) {
	for {
		n, err := b.Conn.Read(p)
		if b.silent() && err == nil {
			if _, broken := b.pass(0, silence); broken {
				continue // what comes is lost
			}
		}
		if n, broken := b.pass(n, lostAnswer, cutAnswer); broken {
			_ = b.Close()
			return n, io.ErrUnexpectedEOF
		}
		return n, err
	}
}

func (b *breaking) silent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set && b.what == silence
}

// Whatever happens to the connection, a command runs once, its caller gets its
// result, and a signal comes once.
func TestFaults(t *testing.T) {
	m := newMachine(t)
	after := map[fault]int{cutRequest: 20, cutAnswer: 50}
	for _, what := range []fault{lostRequest, cutRequest, lostAnswer, cutAnswer} {
		t.Run(what.String(), func(t *testing.T) {
			t.Parallel()
			w := &way{dial: prochttp.Command(m.words("stdio")...)}
			c := w.client(t).Chat(what.String())
			for _, id := range []string{"", "mine"} {
				w.startsOnce(t, c, id, what, after[what])
			}
			begin(t, c, "signals", "trap 'echo caught' INT; echo ready; while :; do sleep 0.01; done")
			w.breaks(what, after[what])
			require.NoError(t, c.Signal(t.Context(), "signals", procmgr.Interrupt))
			out, err := c.Output(t.Context(), "signals", procmgr.OutputRequest{Wait: long, Until: "caught"})
			require.NoError(t, err)
			require.True(t, out.Matched)
			w.breaks(what, after[what])
			require.NoError(t, c.Signal(t.Context(), "signals", procmgr.Kill))
			w.breaks(what, after[what])
			out, err = c.Output(t.Context(), "signals", procmgr.OutputRequest{})
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(out.Text, "caught"), out.Text)
			require.Equal(t, procmgr.Exited, out.Process.State)
			require.GreaterOrEqual(t, w.dials, 5)
		})
	}
}

// startsOnce starts a command while the connection breaks.
func (w *way) startsOnce(t *testing.T, m procmgr.Manager, id string, what fault, after int) {
	t.Helper()
	_, err := m.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	w.breaks(what, after)
	file := filepath.Join(t.TempDir(), "ran")
	out, err := m.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "echo ran >> " + file + "; echo done; exit 7", Wait: 2 * long})
	require.NoError(t, err)
	require.Equal(t, 7, *out.Process.ExitCode)
	require.Equal(t, "done\n", out.Text)
	ran, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "ran\n", string(ran), "it ran once")
}

// Nothing goes through any more, and neither side gets an error.
func TestHeldSilence(t *testing.T) {
	testenv.Held(t)
	w := &way{dial: prochttp.Command(newMachine(t).words("stdio")...)}
	w.startsOnce(t, w.client(t), "mine", silence, 0)
	require.Equal(t, 2, w.dials)
}

// Many callers use connections that break again and again, at any byte.
func TestHeldFaultsAtRandom(t *testing.T) {
	testenv.Held(t)
	m := newMachine(t)
	w := &way{dial: prochttp.Command(m.words("stdio")...)}
	w.plan = func() (fault, int) { return fault(rand.N(4)), 1 + rand.N(2500) }
	c := w.client(t)
	dir := t.TempDir()
	const callers, each = 8, 12
	errs := make(chan error, callers*each)
	for caller := range callers {
		go func() { // errs has one error of each call
			chat := c.Chat(fmt.Sprint("chat-", caller))
			for i := range each {
				name := fmt.Sprintf("%d-%d", caller, i)
				out, err := chat.Start(t.Context(), procmgr.StartRequest{
					Command: fmt.Sprintf("echo ran >> %s/%s; echo %s; sleep 0.0%d; exit %d", dir, name, name, rand.N(10), i),
					Wait:    long,
				})
				if err == nil && (out.Process.ExitCode == nil || *out.Process.ExitCode != i || out.Text != name+"\n") {
					err = fmt.Errorf("%s: %+v", name, out)
				}
				errs <- err
			}
		}()
	}
	for range callers * each {
		require.NoError(t, <-errs)
	}
	for caller := range callers {
		for i := range each {
			ran, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d-%d", caller, i)))
			require.NoError(t, err)
			require.Equal(t, "ran\n", string(ran), "each command runs once")
		}
	}
	require.Greater(t, w.dials, 5)
}
