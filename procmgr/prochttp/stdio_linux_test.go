package prochttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// toFarSide returns the command of a far side. before are the words in front of
// it, such as an ssh command.
func toFarSide(t testing.TB, before ...string) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return append(before, "env", farSideVariable+"=1", self)
}

// dialing returns a client that dials. The URL beside a Dial names any host.
func dialing(t testing.TB, dial func(context.Context) (net.Conn, error), opts prochttp.ClientOptions) *prochttp.Client {
	t.Helper()
	opts.Dial = dial
	return newClient(t, "http://build.example", &opts)
}

// The first calls come at once, and share one connection.
func TestOneDial(t *testing.T) {
	var dials atomic.Int32
	command := prochttp.Command(toFarSide(t)...)
	c := dialing(t, func(ctx context.Context) (net.Conn, error) {
		dials.Add(1)
		return command(ctx)
	}, prochttp.ClientOptions{})
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() {
			_, err := c.List(t.Context(), procmgr.ListRequest{})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, dials.Load())
}

// The far side ends with the client, and its processes with it.
func TestCloseEndsFarSide(t *testing.T) {
	command := prochttp.Command(toFarSide(t)...)
	c, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{Dial: command})
	require.NoError(t, err)
	pid := strings.TrimSpace(run(t, c, "echo $PPID").Text)
	require.True(t, lives(pid))
	require.NoError(t, c.Close())
	require.False(t, lives(pid), "Close waits for it")
	_, err = c.List(t.Context(), procmgr.ListRequest{})
	require.ErrorContains(t, err, "the client is closed")
	require.NoError(t, c.Close())
}

// lives reports whether a process lives; a zombie does not.
func lives(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// liveInGroup returns the processes of a group, without zombies.
func liveInGroup(pgid int) (pids []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(stat), ") ")
		pid := filepath.Base(filepath.Dir(name))
		if fields := strings.Fields(rest); len(fields) > 2 && fields[2] == strconv.Itoa(pgid) && lives(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A far side that ends takes its connection along; the next call dials again,
// and a start that was cut is not run a second time.
func TestFarSideIsReplaced(t *testing.T) {
	var mu sync.Mutex
	var far []net.Conn
	command := prochttp.Command(toFarSide(t)...)
	c := dialing(t, func(ctx context.Context) (net.Conn, error) {
		conn, err := command(ctx)
		mu.Lock()
		defer mu.Unlock()
		far = append(far, conn)
		return conn, err
	}, prochttp.ClientOptions{})
	mark := filepath.Join(t.TempDir(), "mark")
	started := make(chan error, 1)
	go func() { // waited for below
		out, err := c.Start(t.Context(), procmgr.StartRequest{ID: "once", Command: "echo $$ >> " + mark + "; exec sleep 1000", Wait: long})
		if err != nil && out.Process.ID != "once" {
			err = errors.New("no ID: " + err.Error())
		}
		started <- err
	}()
	require.Eventually(t, func() bool { text, _ := os.ReadFile(mark); return len(text) > 0 }, long, time.Millisecond)
	mu.Lock()
	pid := prochttp.CommandPID(far[0])
	mu.Unlock()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.ErrorIs(t, <-started, procmgr.ErrUnknown)
	require.Equal(t, "hello\n", run(t, c, "echo hello").Text)
	text, err := os.ReadFile(mark)
	require.NoError(t, err)
	victim, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err, "it ran once")
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL), "it outlives its manager")
	_, err = c.Output(t.Context(), "once", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrUnknown, "its server was replaced")
}

// The error of a connection has the exit status and 4 KiB of stderr. Whatever comes before
// HTTP/2 is quoted, and none of HTTP/2's own bytes.
func TestCommandSaysWhy(t *testing.T) {
	script := func(script string) []string { return []string{"sh", "-c", script} }
	late := func(before string) []string { return toFarSide(t, "sh", "-c", before+`exec "$@"`, "sh") }
	for _, tt := range []struct {
		name    string
		command []string
		want    []string
	}{
		{"a refusal", script("echo 'Permission denied (publickey).' >&2; exit 255"), []string{"has ended (exit status 255): Permission denied (publickey)."}},
		{"success", script("echo 'lost connection to pod' >&2"), []string{"has ended (exit status 0): lost connection to pod"}},
		{"a signal", script("kill -9 $$"), []string{"has ended (signal: killed)"}},
		{"no such program", []string{"no-such-program"}, []string{`run "no-such-program"`, "not found"}},
		{"no command", nil, []string{"the command is empty: invalid request"}},
		{"much", script("echo first; head -c 100000 /dev/zero | tr '\\0' x >&2; echo first >&2; echo last >&2; exit 1"), []string{"last"}},
		{"a page", late("echo Welcome to build; echo; echo 3 updates; "), []string{`begins with "Welcome to build\n\n3 updates\n"`}},
		{"a word", late("printf hi; "), []string{`begins with "hi"`}},
		{"late lines", late("echo one; sleep 0.05; echo two; "), []string{`begins with "one\ntwo\n"`}},
		{"a page and the end", script("echo no such command; echo why >&2; exit 3"), []string{`begins with "no such command\n"`}},
		{"a short word and the end", script("printf hi; exit 3"), []string{`begins with "hi", and ends (the command`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := dialing(t, prochttp.Command(tt.command...), prochttp.ClientOptions{Retry: -1})
			_, err := c.List(t.Context(), procmgr.ListRequest{})
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), `\x00`)
			require.Less(t, len(err.Error()), 5<<10)
		})
	}
}

// The command cannot reach the terminal of this program.
func TestCommandHasItsOwnSession(t *testing.T) {
	conn, err := prochttp.Command("sh", "-c", "cut -d' ' -f6 /proc/self/stat; echo $$; exec cat")(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	out := bufio.NewReader(conn)
	session, err := out.ReadString('\n')
	require.NoError(t, err)
	own, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, own, session, "it leads its session")
}

// Close does not wait for a Dial that ignores its context, and the connection
// that this Dial makes at last is closed.
func TestCloseWhileDialling(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	dialled, goOn := make(chan struct{}), make(chan struct{})
	c, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{Dial: func(context.Context) (net.Conn, error) {
		close(dialled)
		<-goOn
		return near, nil
	}})
	require.NoError(t, err)
	failed := make(chan error, 1)
	go func() { // waited for below
		_, err := c.List(context.Background(), procmgr.ListRequest{})
		failed <- err
	}()
	<-dialled
	require.NoError(t, c.Close())
	close(goOn)
	require.ErrorContains(t, <-failed, "the client is closed")
	_, err = far.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

// If a call's context ends while it has no connection, its error says why there
// is none.
func TestDialReasonSurvivesContext(t *testing.T) {
	refuses := errors.New("the gate is closed")
	for name, dial := range map[string]func(context.Context) (net.Conn, error){
		"at once":   func(context.Context) (net.Conn, error) { return nil, refuses },
		"on stderr": prochttp.Command("sh", "-c", "echo the gate is closed >&2; exec sleep 1000"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dialing(t, dial, prochttp.ClientOptions{})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			out, err := c.Start(ctx, procmgr.StartRequest{Command: "true"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "the gate is closed")
			require.Empty(t, out.Process.ID, "nothing was sent")
			require.NotErrorIs(t, err, procmgr.ErrUnknown)
		})
	}
}

// A start that found no connection was not sent, even if there was one before.
func TestNoConnectionIsNoUnknown(t *testing.T) {
	command := prochttp.Command(toFarSide(t)...)
	var gone atomic.Bool
	var conn net.Conn
	c := dialing(t, func(ctx context.Context) (_ net.Conn, err error) {
		if gone.Load() {
			return prochttp.Command("sh", "-c", "echo no route >&2; exit 255")(ctx)
		}
		conn, err = command(ctx)
		return conn, err
	}, prochttp.ClientOptions{Retry: 300 * time.Millisecond})
	run(t, c, "true")
	gone.Store(true)
	require.NoError(t, conn.Close())
	_, err := c.List(t.Context(), procmgr.ListRequest{}) // the client learns that its connection has ended
	require.ErrorContains(t, err, "no route")
	out, err := c.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorContains(t, err, "no route")
	require.NotErrorIs(t, err, procmgr.ErrUnknown)
	require.Empty(t, out.Process.ID)
}

// Close closes the command's stdin, which is enough for most. If it is not, Close kills
// the whole group. It waits in any case.
func TestCommandEnds(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
		after              time.Duration
	}{
		{"by itself", "echo ready; cat >/dev/null; echo stdin >> $0", "stdin\n", 0},
		{"by KILL with its group", "echo stays > $0; trap '' TERM; (exec sleep 99) & echo ready; while :; do sleep 0.05; done", "stays\n", 4 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "said") // the $0 of the script
			conn, err := prochttp.Command("sh", "-c", tt.script, file)(t.Context())
			require.NoError(t, err)
			_, err = io.ReadFull(conn, make([]byte, len("ready\n")))
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, conn.Close())
			require.GreaterOrEqual(t, time.Since(began), tt.after)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(text))
			// What is left of the group got its SIGKILL, and needs a processor to die of it.
			require.Eventually(t, func() bool { return len(liveInGroup(prochttp.CommandPID(conn))) == 0 }, 10*time.Second, time.Millisecond)
			require.NoError(t, conn.Close(), "once more")
		})
	}
}

// A far side gives up a client that does not begin to speak HTTP/2.
func TestSilentClient(t *testing.T) {
	for name, said := range map[string]string{
		"no byte":               "",
		"one byte":              "P",
		"a part of the preface": "PRI * HTTP/2.0\r\n\r\nSM",
		"HTTP/1.1":              "GET / HT",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, client := io.Pipe()
			served := make(chan error, 1)
			go func() { // waited for below
				served <- prochttp.ServeBytes(t.Context(), http.NotFoundHandler(), in, io.Discard, 50*time.Millisecond)
			}()
			defer func() { require.NoError(t, client.Close()) }()
			_, err := io.WriteString(client, said)
			require.NoError(t, err)
			select {
			case err := <-served:
				require.NoError(t, err)
			case <-time.After(long):
				t.Fatal("it stays")
			}
		})
	}
}
