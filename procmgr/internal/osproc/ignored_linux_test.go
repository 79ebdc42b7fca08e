package osproc_test

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// envIgnoring is set in the program that TestCommandIgnoresNothing starts. Its
// value is the name of a case.
const envIgnoring = "OSPROC_TEST_IGNORING"

// refuses are the signals that a program of TestCommandIgnoresNothing may ignore.
var refuses = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGUSR1,
	syscall.SIGCHLD, syscall.SIGTSTP, syscall.SIGCONT, syscall.Signal(40),
}

// A command ignores no signal, whatever the program does that starts it, and
// blocks none that the program does not block. The program goes on as it was: no signal ends it that did not before, and
// package signal works.
func TestCommandIgnoresNothing(t *testing.T) {
	const inherits = `trap '' HUP INT QUIT TERM PIPE USR1 TSTP CONT; exec "$@"`
	tests := []struct {
		name, launcher string
		prepare        func() // in the program
		again          func() // between two starts
	}{
		{name: "under nohup", launcher: `exec nohup "$@"`},
		{name: "by a script's &", launcher: `"$@" & wait $!`},
		{name: "from the beginning", launcher: inherits},
		{name: "taken and given back", launcher: inherits, prepare: func() {
			_, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP, syscall.SIGINT)
			stop()
		}},
		{name: "by signal.Ignore", launcher: `exec "$@"`, prepare: func() { signal.Ignore(refuses...) }},
		{
			name: "by signal.Ignore between two starts", launcher: `exec "$@"`,
			prepare: func() {}, again: func() { signal.Ignore(refuses...) },
		},
		{
			name: "taken and given back between two starts", launcher: `exec "$@"`,
			prepare: func() {},
			again: func() {
				signal.Ignore(refuses...)
				_, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP, syscall.SIGINT)
				stop()
			},
		},
	}
	for _, tt := range tests {
		if os.Getenv(envIgnoring) == tt.name {
			if tt.prepare != nil {
				tt.prepare()
			}
			ignoring := ownIgnored(t)
			startsDefaults(t)
			if tt.again != nil {
				tt.again()
				ignoring = ownIgnored(t)
				startsDefaults(t)
			}
			goesOnIgnoring(t, ignoring)
			return
		}
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", tt.launcher, "sh", self, "-test.run=^TestCommandIgnoresNothing$", "-test.count=1", "-test.v")
			cmd.Env = append(os.Environ(), envIgnoring+"="+tt.name)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "--- PASS: TestCommandIgnoresNothing", "it did not run there")
		})
	}
}

// signalSets is a line of /proc/PID/status that has signals.
var signalSets = regexp.MustCompile(`(Sig(?:Ign|Blk)):\s*([0-9a-f]+)`)

// startsDefaults starts commands and fails if one of them ignores or blocks a
// signal.
func startsDefaults(t *testing.T) {
	s := open(t, osproc.Config{})
	var wg sync.WaitGroup
	for range 8 {
		for _, stdin := range []osproc.Stdin{osproc.StdinEmpty, osproc.StdinTerminal} {
			wg.Go(func() {
				text := status(t, s, stdin)
				assert.Len(t, signalSets.FindAllString(text, -1), 2, text)
				for _, set := range signalSets.FindAllStringSubmatch(text, -1) {
					assert.Equal(t, strings.Repeat("0", len(set[2])), set[2], set[1])
				}
			})
		}
	}
	wg.Wait()
}

// status returns the lines of a command's own status that have signals.
func status(t *testing.T, s *osproc.System, stdin osproc.Stdin) string {
	c := &command{system: s}
	tree, err := s.Start(osproc.Command{
		Argv: []string{"grep", "^Sig", "/proc/self/status"}, Dir: "/", Env: os.Environ(),
		Stdin: stdin, Size: osproc.Size{Rows: 24, Cols: 80}, Output: c,
	})
	if !assert.NoError(t, err) {
		return ""
	}
	_, _ = tree.Follow(func(osproc.Exit) {})
	tree.Release()
	return c.output()
}

// ownIgnored returns the signals that this program ignores.
func ownIgnored(t *testing.T) uint64 {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	return ignoredIn(t, string(text))
}

func ignoredIn(t *testing.T, text string) uint64 {
	for _, set := range signalSets.FindAllStringSubmatch(text, -1) {
		if set[1] == "SigIgn" {
			bits, err := strconv.ParseUint(set[2], 16, 64)
			require.NoError(t, err)
			return bits
		}
	}
	require.Fail(t, "no SigIgn", text)
	return 0
}

// goesOnIgnoring fails if a signal ends this program that did not before, if
// package signal does not work, or if a child that is no command takes a hangup
// that it has ignored so far.
func goesOnIgnoring(t *testing.T, ignored uint64) {
	require.NotZero(t, ignored)
	survives := func() {
		runtime.LockOSThread() // the thread takes the signal before the call returns
		defer runtime.UnlockOSThread()
		for n := syscall.Signal(1); n <= 64; n++ {
			if ignored&(1<<(n-1)) != 0 {
				require.NoError(t, unix.Tgkill(os.Getpid(), unix.Gettid(), n))
			}
		}
	}
	survives()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if ignored&(1<<(sig-1)) == 0 {
			continue
		}
		require.NotZero(t, ownIgnored(t)&(1<<(sig-1)), "it is ignored again")
		taken := make(chan os.Signal, 1)
		signal.Notify(taken, sig)
		startsDefaults(t)
		require.NoError(t, syscall.Kill(os.Getpid(), sig))
		select {
		case got := <-taken:
			require.Equal(t, sig, got)
		case <-time.After(long):
			require.Fail(t, "it is not told of "+sig.String())
		}
		signal.Stop(taken)
		survives()
	}
	out, err := exec.CommandContext(t.Context(), "grep", "^Sig", "/proc/self/status").Output()
	require.NoError(t, err)
	const hangups = 1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGINT-1)
	require.Equal(t, ignored&hangups, ignoredIn(t, string(out))&hangups)
}
