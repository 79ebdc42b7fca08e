package proclocal_test

import (
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A command ignores no signal, whatever the program does that starts it, and blocks none
// that the program does not block. The program goes on as it was: no signal ends it that
// did not before, package signal works, and a child that is no command ignores hangups.
func TestCommandIgnoresNothing(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		runProgram(t, program(t, "sh", "-c", `trap '' HUP INT QUIT TERM PIPE USR1 TSTP CONT; exec "$@"`, "sh"))
		return
	}
	hangups := []os.Signal{syscall.SIGHUP, syscall.SIGINT}
	taken := make(chan os.Signal, 1)
	l := newLocal(t, nil)
	for _, change := range []func(){
		func() {}, // the first start comes after it
		func() {
			signal.Ignore(append(hangups, syscall.SIGUSR2, syscall.SIGCHLD, syscall.Signal(40))...)
			signal.Notify(taken, hangups...)
			signal.Stop(taken)
		},
	} {
		change()
		ignored := signalsIn(t, readStatus(t))["Ign"]
		startsDefaults(t, l)
		survives(t, ignored)
		for _, sig := range hangups {
			bit := uint64(1) << (sig.(syscall.Signal) - 1)
			if ignored&bit == 0 {
				continue
			}
			require.NotZero(t, signalsIn(t, readStatus(t))["Ign"]&bit, "it is ignored again")
			signal.Notify(taken, sig)
			startsDefaults(t, l)
			require.NoError(t, syscall.Kill(os.Getpid(), sig.(syscall.Signal)))
			select {
			case got := <-taken:
				require.Equal(t, sig, got)
			case <-time.After(long):
				require.Fail(t, "it is not told of "+sig.String())
			}
			signal.Stop(taken)
			out, err := exec.CommandContext(t.Context(), "grep", "^Sig", "/proc/self/status").Output()
			require.NoError(t, err)
			require.NotZero(t, signalsIn(t, string(out))["Ign"]&bit, "in a child that is no command")
		}
		survives(t, ignored)
	}
}

// startsDefaults starts commands and fails if one of them ignores or blocks a signal.
func startsDefaults(t *testing.T, l *proclocal.Local) {
	var starts sync.WaitGroup
	for range 8 {
		for _, stdin := range []procmgr.Stdin{procmgr.StdinEmpty, procmgr.StdinTerminal} {
			starts.Go(func() {
				out, err := l.Start(t.Context(), procmgr.StartRequest{Command: "exec grep ^Sig /proc/self/status", Stdin: stdin, Wait: long})
				if assert.NoError(t, err) {
					assert.Equal(t, map[string]uint64{"Ign": 0, "Blk": 0}, signalsIn(t, out.Text))
				}
			})
		}
	}
	starts.Wait()
}

// survives sends this program the signals that it ignores.
func survives(t *testing.T, ignored uint64) {
	runtime.LockOSThread() // the thread takes the signal before the call returns
	defer runtime.UnlockOSThread()
	for n := syscall.Signal(1); n <= 64; n++ {
		if ignored&(1<<(n-1)) != 0 {
			require.NoError(t, unix.Tgkill(os.Getpid(), unix.Gettid(), n))
		}
	}
}

func readStatus(t *testing.T) string {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	return string(text)
}

// signalSets is a line of /proc/PID/status that has signals.
var signalSets = regexp.MustCompile(`Sig(Ign|Blk):\s*([0-9a-f]+)`)

// signalsIn returns the sets of signals in such a file.
func signalsIn(t *testing.T, status string) map[string]uint64 {
	sets := make(map[string]uint64)
	for _, set := range signalSets.FindAllStringSubmatch(status, -1) {
		bits, err := strconv.ParseUint(set[2], 16, 64)
		assert.NoError(t, err)
		sets[set[1]] = bits
	}
	return sets
}
