package prockeep_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// A held is a start in a keeper that HoldAStart holds.
type held struct {
	*keeping
	dir            string
	keeper, holder int
	began          chan error // gets what the caller of the start gets
}

// holdStart starts a command under the ID "a", and returns when it is forked.
func holdStart(t *testing.T, do string, command func(dir string) string) *held {
	t.Helper()
	h := &held{keeping: &keeping{t: t, dir: newDir(t)}, dir: filepath.Join(t.TempDir(), heldStart), began: make(chan error, 1)}
	require.NoError(t, os.Mkdir(h.dir, 0o700))
	t.Setenv("TMPDIR", h.dir)
	h.k = open(t, h.keeping.dir, nil)
	h.Manager = h.k.Chat("c")
	h.keeper = keeperPID(t, h.k)
	h.holder = parentOf(t, h.keeper)
	h.write("start", do)
	go func() { // the test waits for it
		_, err := h.start(procmgr.StartRequest{ID: "a", Command: command(h.dir)})
		h.began <- err
	}()
	h.await("start.forked")
	return h
}

func (h *held) write(name, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600))
}

// await waits until a file is there and not empty, and returns its text.
func (h *held) await(name string) (text string) {
	h.t.Helper()
	eventually(h.t, name+" is there", func() bool {
		data, err := os.ReadFile(filepath.Join(h.dir, name))
		text = string(data)
		return err == nil && (text != "" || name == "start.forked")
	})
	return text
}

// killKeeper kills the keeper, lets something happen, and then lets the holder go on.
func (h *held) killKeeper(meanwhile func()) {
	h.t.Helper()
	require.NoError(h.t, syscall.Kill(h.holder, syscall.SIGSTOP))
	kill(h.t, h.keeper)
	meanwhile()
	require.NoError(h.t, syscall.Kill(h.holder, syscall.SIGCONT))
}

// A keeper is killed at the very moments of a start: while the leader stands before
// its first instruction, and when it may have gone on. What stood has run nothing, so
// that the start is made anew. What may have gone on never runs twice, even if it has
// ended as what stood there does.
func TestKilledAtTheFirstInstruction(t *testing.T) {
	const killsItself, exits = "kill -9 $$", "exit 3"
	for _, test := range []struct {
		name    string
		command string
		do      string // see HoldAStart
		fresh   bool
		endedBy procmgr.Cause
	}{
		{name: "stands", command: exits, fresh: true, endedBy: procmgr.CauseExit},
		{name: "stands, and is written down", command: exits, do: "write", fresh: true, endedBy: procmgr.CauseExit},
		{name: "goes", command: exits, do: "go", endedBy: procmgr.CauseExit},
		{name: "goes, and kills itself", command: killsItself, do: "go", endedBy: procmgr.CauseSignal},
		{name: "goes, and nobody knows it", command: exits, do: "go blind", endedBy: procmgr.CauseLost},
		{name: "goes, kills itself, and nobody knows it", command: killsItself, do: "go blind", endedBy: procmgr.CauseLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			command := func(dir string) string {
				return "echo $$ >>" + filepath.Join(dir, "ran") + "; while ! [ -e " + filepath.Join(dir, "ends") + " ]; do sleep 0.01; done; " + test.command
			}
			h := holdStart(t, test.do, command)
			goes := strings.Contains(test.do, "go")
			if goes {
				h.await("ran")
				require.NoError(t, <-h.began)
			}
			h.killKeeper(func() {
				h.write("ends", "")
				if !goes {
					return
				}
				pid, err := strconv.Atoi(strings.TrimSpace(h.await("ran")))
				require.NoError(t, err)
				eventually(t, "it has ended before the next program looks", func() bool { return !alive(pid) })
			})
			if !goes {
				require.ErrorIs(t, <-h.began, procmgr.ErrUnknown)
			}
			out, err := h.start(procmgr.StartRequest{ID: "a", Command: command(h.dir)})
			require.NoError(t, err)
			require.Equal(t, !test.fresh, out.Attached)
			out = h.exited("a")
			require.Equal(t, test.endedBy, out.Process.EndedBy)
			if test.endedBy == procmgr.CauseExit {
				require.Equal(t, 3, *out.Process.ExitCode)
			}
			require.Equal(t, 1, strings.Count(h.await("ran"), "\n"), "it ran once")
		})
	}
}

// A program dies in the midst of a start, and nobody has seen whether the command had
// begun. If the leader ends as one does that is killed before its first instruction, and
// has printed nothing, nobody knows how it ended: no tool has sent that signal.
func TestEndOfADoubtfulStart(t *testing.T) {
	for _, test := range []struct {
		name    string
		end     syscall.Signal // by which it ends; 0 if a caller kills it
		prints  bool
		known   bool // the next program knows that it had begun
		again   bool // another program dies before the end
		endedBy procmgr.Cause
	}{
		{name: "killed", end: syscall.SIGKILL, endedBy: procmgr.CauseLost},
		{name: "killed later", end: syscall.SIGKILL, again: true, endedBy: procmgr.CauseLost},
		{name: "its stop ends it", end: syscall.SIGTRAP, endedBy: procmgr.CauseLost},
		{name: "killed after it has printed", end: syscall.SIGKILL, prints: true, endedBy: procmgr.CauseSignal},
		{name: "killed, and it had begun", end: syscall.SIGKILL, known: true, endedBy: procmgr.CauseSignal},
		{name: "another signal", end: syscall.SIGTERM, endedBy: procmgr.CauseSignal},
		{name: "a caller kills it", endedBy: procmgr.CauseRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			do := "go blind"
			if test.known {
				do = "go"
			}
			h := holdStart(t, do, func(dir string) string {
				return "echo >" + filepath.Join(dir, "ran") + "; while ! [ -e " + filepath.Join(dir, "prints") + " ]; do sleep 0.01; done; echo text; while :; do sleep 0.01; done"
			})
			h.await("ran")
			require.NoError(t, <-h.began)
			h.killKeeper(func() {})
			if test.again {
				h.crash()
			}
			out, err := h.output("a", procmgr.OutputRequest{})
			require.NoError(t, err)
			require.Equal(t, procmgr.Running, out.Process.State)
			if test.prints {
				h.write("prints", "")
				out, err = h.output("a", procmgr.OutputRequest{Until: "text", Wait: long})
				require.NoError(t, err)
				require.True(t, out.Matched)
			}
			if test.end != 0 {
				require.NoError(t, syscall.Kill(out.Process.PID, test.end))
			} else {
				require.NoError(t, h.signal("a", procmgr.Kill))
			}
			out = h.exited("a")
			require.Equal(t, test.endedBy, out.Process.EndedBy)
			require.Equal(t, test.endedBy == procmgr.CauseLost, out.Process.Signal == "")
		})
	}
}
