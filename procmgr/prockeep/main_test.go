//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// envRole makes the test binary play another program.
const envRole = "PROCKEEP_TEST_ROLE"

// roles are the programs that the test binary plays. Their arguments are the program's.
var roles = map[string]func(args []string) error{
	"work":  roleWork,
	"print": rolePrint,
	"knock": roleKnock,
}

// TestMain fails the run if it leaves a keeper behind.
func TestMain(m *testing.M) {
	role := os.Getenv(envRole)
	if role == "forgot" {
		exit(rolePrint(os.Args[1:]))
	}
	prockeep.Main()
	if role != "" {
		exit(roles[role](os.Args[1:]))
	}
	code := m.Run()
	if left := keepersLeft(); code == 0 && len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind by the tests: keepers", left)
		code = 1
	}
	os.Exit(code)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// keepersLeft waits a moment for keepers of this test binary that are about to end, and
// returns the others.
func keepersLeft() (left []string) {
	own, _ := os.Readlink("/proc/self/exe")
	for range 500 {
		left = nil
		all, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, exe := range all {
			pid := filepath.Base(filepath.Dir(exe))
			if file, err := os.Readlink(exe); err == nil && file == own && pid != strconv.Itoa(os.Getpid()) {
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

const (
	// long is a time that a test waits only if something is wrong.
	long = 30 * time.Second
	// lifetime is the idle time of the keepers of the tests: if a test dies, they end by
	// themselves.
	lifetime = 2 * time.Minute
)

// newDir returns a directory for a keeper whose path is short enough.
func newDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "k")
}

// open opens a directory. At the end of the test its keepers are stopped.
func open(t testing.TB, dir string, opts *prockeep.Options) *prockeep.Host {
	t.Helper()
	var o prockeep.Options
	if opts != nil {
		o = *opts
	}
	if o.Idle == 0 {
		o.Idle = lifetime
	}
	h, err := prockeep.Open(t.Context(), dir, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{"keeper.log", "ids"} {
				text, _ := os.ReadFile(filepath.Join(dir, name))
				t.Logf("%s:\n%s", name, text[max(0, len(text)-4096):])
			}
		}
		require.NoError(t, h.Close())
		again, err := prockeep.Find(context.Background(), dir)
		if err == nil {
			require.NoError(t, again.Stop(context.Background()))
		} else {
			require.ErrorIs(t, err, procmgr.ErrNotFound)
		}
	})
	return h
}

// start starts a command.
func start(t testing.TB, m procmgr.Manager, req procmgr.StartRequest) procmgr.Output {
	t.Helper()
	out, err := m.Start(t.Context(), req)
	require.NoError(t, err)
	return out
}

// output reads the output of a process.
func output(t testing.TB, m procmgr.Manager, id string, req procmgr.OutputRequest) procmgr.Output {
	t.Helper()
	out, err := m.Output(t.Context(), id, req)
	require.NoError(t, err)
	return out
}

// events reads a page of events.
func events(t testing.TB, m procmgr.Manager, req procmgr.EventsRequest) procmgr.EventPage {
	t.Helper()
	page, err := m.Events(t.Context(), req)
	require.NoError(t, err)
	return page
}

// run runs a command to its end.
func run(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	out := start(t, m, procmgr.StartRequest{Command: command, Wait: long})
	require.Equal(t, procmgr.Exited, out.Process.State, "%+v", out)
	return out
}

// begin starts a command that prints a line when it is ready.
func begin(t testing.TB, m procmgr.Manager, id, command string) procmgr.Output {
	t.Helper()
	start(t, m, procmgr.StartRequest{ID: id, Command: command, Background: true})
	out := output(t, m, id, procmgr.OutputRequest{Until: ".", Wait: long})
	require.True(t, out.Matched, "%+v", out)
	return out
}

// keeperPID returns the number of the newest keeper, which is the parent of its commands.
func keeperPID(t testing.TB, m procmgr.Manager) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(run(t, m, "echo $PPID").Text))
	require.NoError(t, err)
	return pid
}

// kill kills a process that is not this program's child, and waits for its end.
func kill(t testing.TB, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !alive(pid) }, long, time.Millisecond)
}

// alive reports whether a process lives; on Linux, a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	if !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X") {
		return true
	}
	// The first thread has ended. The last one closes the files.
	threads, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	return len(threads) > 1
}

// program returns the command of the test binary in a role.
func program(t testing.TB, role string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), envRole+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

// rolePrint opens a directory and prints the output of a command.
func rolePrint(args []string) error {
	h, err := prockeep.Open(context.Background(), args[0], &prockeep.Options{Idle: lifetime})
	if err != nil {
		return err
	}
	out, err := h.Chat("a").Start(context.Background(), procmgr.StartRequest{ID: args[1], Command: args[2], Wait: long})
	if err != nil {
		return err
	}
	fmt.Print(out.Text)
	if os.Getenv("PROCKEEP_TEST_STOP") != "" {
		return h.Stop(context.Background())
	}
	return h.Close()
}

// roleKnock prints the status of an answer at the address of a keeper.
func roleKnock(args []string) error {
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", args[0])
	}}}
	res, err := client.Get("http://localhost/keeper")
	if err != nil {
		return err
	}
	fmt.Println(res.StatusCode)
	return res.Body.Close()
}
