//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/asktest"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// envRole makes the test binary play another program.
const envRole = "PROCKEEP_TEST_ROLE"

// otherVersion is the name by which the test binary plays a program whose states have
// another version.
const otherVersion = "other-version"

// hangs is the name by which it plays a program that never becomes a keeper.
const hangs = "hangs"

// roles are the programs that the test binary plays. Their arguments are the
// program's.
var roles = map[string]func(args []string) error{
	"keeper's pid": roleTellKeeper,
	"start":        roleStart,
	"work":         roleWork,
	"large":        roleLarge,
}

// fewDeaths is the name of a directory for temporary files in which holders give up
// early.
const fewDeaths = "few-deaths"

// heldStart is the name of a directory for temporary files in which starts are held.
const heldStart = "held-start"

// TestMain fails the run if it leaves a keeper behind.
func TestMain(m *testing.M) {
	asktest.Play()
	role := os.Getenv(envRole)
	if role == "forgot" {
		exit(roleTellKeeper(os.Args[1:]))
	}
	switch dir := os.TempDir(); filepath.Base(dir) { // a holder inherits no other variable
	case fewDeaths:
		prockeep.LowerDeaths(10)
	case heldStart:
		prockeep.HoldAStart(dir)
	}
	switch own, _ := os.Executable(); filepath.Base(own) {
	case otherVersion:
		prockeep.PlayOtherVersion()
	case hangs:
		time.Sleep(long)
		os.Exit(1)
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

// keepersLeft waits a moment for keepers of this test binary that are about to
// end, and returns the others.
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

// long is a time that a test waits only if something is wrong.
const long = 30 * time.Second

// lifetime is the idle time of the keepers of the tests: if a test dies, they end
// by themselves.
const lifetime = 2 * time.Minute

// newDir returns a directory for a keeper whose path is short enough.
func newDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "k")
}

// open opens a directory. At the end of the test its keeper is stopped.
func open(t testing.TB, dir string, opts *prockeep.Options) *prockeep.Keeper {
	t.Helper()
	var o prockeep.Options
	if opts != nil {
		o = *opts
	}
	if o.Idle == 0 {
		o.Idle = lifetime
	}
	k, err := prockeep.Open(t.Context(), dir, &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Stop(context.Background())) })
	return k
}

// run starts a command and waits for its end.
func run(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	out, err := m.Start(t.Context(), procmgr.StartRequest{Command: command, Wait: long})
	require.NoError(t, err)
	return out
}

// begin starts a command and waits until it has printed "ready".
func begin(t testing.TB, m procmgr.Manager, id, command string) procmgr.Output {
	t.Helper()
	_, err := m.Start(t.Context(), procmgr.StartRequest{ID: id, Command: command, Background: true})
	require.NoError(t, err)
	out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: long, Until: "^ready$"})
	require.NoError(t, err)
	require.True(t, out.Matched, "it never got ready: %+v", out)
	return out
}

// keeperPID returns the keeper's pid: the keeper is the parent of every shell.
func keeperPID(t testing.TB, m procmgr.Manager) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(run(t, m, "echo $PPID").Text))
	require.NoError(t, err)
	return pid
}

// kill kills a process by SIGKILL, and waits until it has gone.
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
		return true
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

// roleTellKeeper opens a directory and prints the pid of the keeper.
func roleTellKeeper(args []string) error {
	k, err := prockeep.Open(context.Background(), args[0], &prockeep.Options{Idle: lifetime})
	if err != nil {
		return err
	}
	out, err := k.Start(context.Background(), procmgr.StartRequest{Command: "echo $PPID", Wait: long})
	if err != nil {
		return err
	}
	fmt.Print(out.Text)
	return k.Close()
}

// roleLarge takes memory, so that its end takes a while, and waits for that.
func roleLarge([]string) error {
	memory := make([]byte, 64<<20)
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	fmt.Println("ready")
	time.Sleep(lifetime)
	runtime.KeepAlive(memory)
	return nil
}

// roleStart starts a command under an ID, prints its output so far, and then
// does nothing until it is killed.
func roleStart(args []string) error {
	k, err := prockeep.Open(context.Background(), args[0], &prockeep.Options{Idle: lifetime})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if _, err := k.Chat("a").Start(ctx, procmgr.StartRequest{ID: args[1], Command: args[2]}); err != nil {
		return err
	}
	out, err := k.Chat("a").Output(ctx, args[1], procmgr.OutputRequest{Until: ".", Wait: long})
	if err != nil {
		return err
	}
	fmt.Print(out.Text)
	select {}
}

// startAndKill runs roleStart until it has printed a line, and kills it.
func startAndKill(t *testing.T, dir, id, command string, env ...string) string {
	t.Helper()
	cmd := program(t, "start", dir, id, command)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	return line
}
