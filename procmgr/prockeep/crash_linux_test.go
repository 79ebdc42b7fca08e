package prockeep_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A keeping is a chat of a keeper that a test kills and upgrades.
type keeping struct {
	t   *testing.T
	dir string
	k   *prockeep.Keeper
	procmgr.Manager
}

func newKeeping(t *testing.T, logs string) *keeping {
	t.Helper()
	dir := newDir(t)
	k := open(t, dir, &prockeep.Options{Local: proclocal.Options{LogDir: logs}})
	return &keeping{t: t, dir: dir, k: k, Manager: k.Chat("c")}
}

// crashAndWait kills the keeper. The holder starts the next one when the function that
// it returns is called.
func (k *keeping) crashAndWait() (goOn func()) {
	k.t.Helper()
	pid := keeperPID(k.t, k.k)
	holder := parentOf(k.t, pid)
	require.NoError(k.t, syscall.Kill(holder, syscall.SIGSTOP))
	kill(k.t, pid)
	return func() { require.NoError(k.t, syscall.Kill(holder, syscall.SIGCONT)) }
}

func (k *keeping) crash() {
	k.t.Helper()
	kill(k.t, keeperPID(k.t, k.k))
}

// killWithHolder kills the keeper together with its holder.
func (k *keeping) killWithHolder() {
	k.t.Helper()
	pid := keeperPID(k.t, k.k)
	require.NoError(k.t, syscall.Kill(parentOf(k.t, pid), syscall.SIGKILL))
	kill(k.t, pid)
	eventually(k.t, "both are gone", func() bool { return len(keepersOf(k.dir)) == 0 })
}

func (k *keeping) upgrade() {
	k.t.Helper()
	require.NoError(k.t, k.k.Upgrade(k.t.Context()))
}

func (k *keeping) start(req procmgr.StartRequest) (procmgr.Output, error) {
	return k.Start(k.t.Context(), req)
}

func (k *keeping) output(id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return k.Output(k.t.Context(), id, req)
}

func (k *keeping) input(id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return k.Input(k.t.Context(), id, req)
}

func (k *keeping) signal(id string, sig procmgr.Signal) error {
	return k.Signal(k.t.Context(), id, sig)
}

func (k *keeping) events(req procmgr.EventsRequest) procmgr.EventPage {
	k.t.Helper()
	page, err := k.Events(k.t.Context(), req)
	require.NoError(k.t, err)
	return page
}

// exited waits until a process has exited.
func (k *keeping) exited(id string) (out procmgr.Output) {
	k.t.Helper()
	eventually(k.t, id+" has exited", func() bool {
		var err error
		out, err = k.output(id, procmgr.OutputRequest{Wait: long})
		require.NoError(k.t, err)
		return out.Process.State == procmgr.Exited
	})
	return out
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for late := time.Now().Add(long); !is(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(late), what)
	}
}

// What a Local knew when its program was killed is known to the next one: IDs,
// codes, output that a log has, and what runs on.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	k := newKeeping(t, filepath.Join(dir, "logs"))
	at := func(name string) string { return filepath.Join(dir, name) }
	start := func(id, command string, stdin procmgr.Stdin) {
		t.Helper()
		_, err := k.start(procmgr.StartRequest{ID: id, Command: command, Stdin: stdin})
		require.NoError(t, err)
	}
	await := func(name string) string { return fmt.Sprintf("while ! [ -e %s ]; do sleep 0.01; done; ", at(name)) }
	start("done", "echo done; exit 5", "")
	k.exited("done")
	start("talks", "echo before; touch "+at("talks")+"; "+await("go")+"echo after; exit 7", "")
	start("gap", await("gap")+"echo in the gap; exit 9", "")
	start("killed", "exec sleep 1000", "")
	start("left", "sleep 1000 & exit 3", "")
	start("cat", "cat; exit 4", procmgr.StdinPipe)
	start("shut", "cat; exit 2", procmgr.StdinPipe)
	start("term", "read x; echo got $x; exit 6", procmgr.StdinTerminal)
	require.ErrorContains(t, k.signal("spent", procmgr.Kill), "no such process")
	_, err := k.input("cat", procmgr.InputRequest{Key: "one", Data: []byte("one\n")})
	require.NoError(t, err)
	_, err = k.input("shut", procmgr.InputRequest{Data: []byte("x\n"), Close: true})
	require.NoError(t, err)
	require.Equal(t, 2, *k.exited("shut").Process.ExitCode, "the holder does not keep its stdin open")
	for id, text := range map[string]string{"talks": "before\n", "cat": "one\n"} {
		out, err := k.output(id, procmgr.OutputRequest{Until: strings.TrimSpace(text), Wait: long})
		require.NoError(t, err)
		require.Equal(t, text, out.Text)
	}
	eventually(t, "it talks", func() bool { _, err := os.Stat(at("talks")); return err == nil })
	cursor := k.events(procmgr.EventsRequest{}).Next
	for {
		out, err := k.output("left", procmgr.OutputRequest{State: procmgr.Running, Wait: long})
		require.NoError(t, err)
		if out.Process.State == procmgr.Detached {
			break
		}
	}

	running, err := k.output("gap", procmgr.OutputRequest{})
	require.NoError(t, err)
	goOn := k.crashAndWait()
	require.NoError(t, os.WriteFile(at("gap"), nil, 0o600))
	eventually(t, "one ends while nobody is there", func() bool { return !alive(running.Process.PID) })
	goOn()

	states := make(map[string]procmgr.State)
	all, err := k.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	for _, p := range all.Processes {
		states[p.ID] = p.State
	}
	require.Equal(t, procmgr.Exited, states["done"])
	require.Equal(t, procmgr.Running, states["talks"])
	require.Equal(t, procmgr.Detached, states["left"])
	require.Len(t, states, 8)

	out, err := k.output("done", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, "done\n", out.Text)
	require.Equal(t, 5, *out.Process.ExitCode)
	_, err = k.start(procmgr.StartRequest{ID: "done", Command: "echo done; exit 5"})
	require.NoError(t, err, "a replay finds it")
	_, err = k.start(procmgr.StartRequest{ID: "done", Command: "echo other"})
	require.ErrorContains(t, err, procmgr.ErrConflict.Error())
	_, err = k.start(procmgr.StartRequest{ID: "spent", Command: "echo ran"})
	require.ErrorContains(t, err, procmgr.ErrConflict.Error())

	gap := k.exited("gap")
	require.Equal(t, 9, *gap.Process.ExitCode, "the holder knows the code")
	require.Equal(t, procmgr.CauseExit, gap.Process.EndedBy)
	require.Equal(t, "in the gap\n", gap.Text)

	require.NoError(t, os.WriteFile(at("go"), nil, 0o600))
	talks := k.exited("talks")
	require.Equal(t, 7, *talks.Process.ExitCode)
	require.Equal(t, "before\nafter\n", talks.Text, "the text of before comes from the log")

	// What was written with a key is not written again.
	again, err := k.input("cat", procmgr.InputRequest{Key: "one", Data: []byte("one\n")})
	require.NoError(t, err)
	require.Equal(t, 4, again.Written)
	_, err = k.input("cat", procmgr.InputRequest{Data: []byte("two\n"), Close: true})
	require.NoError(t, err)
	cat := k.exited("cat")
	require.Equal(t, "one\ntwo\n", cat.Text)
	require.Equal(t, 4, *cat.Process.ExitCode)
	_, err = k.input("term", procmgr.InputRequest{Data: []byte("hello\n")})
	require.NoError(t, err)
	term := k.exited("term")
	require.Equal(t, 6, *term.Process.ExitCode)
	require.Contains(t, term.Text, "got hello")

	require.NoError(t, k.signal("killed", procmgr.Kill))
	killed := k.exited("killed")
	require.Equal(t, "SIGKILL", killed.Process.Signal)
	require.Equal(t, procmgr.CauseRequest, killed.Process.EndedBy)
	require.NoError(t, k.signal("left", procmgr.Kill))
	left := k.exited("left")
	require.Equal(t, 3, *left.Process.ExitCode)

	page := k.events(procmgr.EventsRequest{After: cursor, Limit: -1})
	require.True(t, page.Gap)
	ends := make(map[string]int)
	for _, e := range page.Events {
		if e.Kind == procmgr.EventExited {
			ends[e.Process.ID]++
		}
	}
	require.Equal(t, map[string]int{"done": 1, "talks": 1, "gap": 1, "killed": 1, "left": 1, "cat": 1, "shut": 1, "term": 1}, ends)
}

// What has left its session is found after its process was taken for gone, by
// whichever program, and after whichever end of the one before it.
func TestCrashOfARevivedProcess(t *testing.T) {
	testenv.Programs(t, "setsid")
	for _, ends := range []string{"cc", "cu", "uc", "cuc", "ucu"} {
		for found := range len(ends) { // is it found before the first end, or before the next one
			k := newKeeping(t, filepath.Join(t.TempDir(), "logs"))
			id := ""
			for try := 0; id == ""; try++ {
				require.Less(t, try, 50, "it is seen at once each time")
				out, err := k.start(procmgr.StartRequest{ID: fmt.Sprintf("p%d", try), Command: "setsid -f sleep 600 >/dev/null 2>&1; exit 3", Wait: long})
				require.NoError(t, err)
				if p := out.Process; p.State == procmgr.Exited {
					id = p.ID
					break
				}
				require.NoError(t, k.signal(out.Process.ID, procmgr.Kill))
			}
			is := func(out procmgr.Output) {
				t.Helper()
				require.NotNil(t, out.Process.ExitCode, "%s, %d: %+v", ends, found, out.Process)
				require.Equal(t, 3, *out.Process.ExitCode)
				require.Contains(t, []procmgr.Cause{procmgr.CauseExit, procmgr.CauseRequest}, out.Process.EndedBy)
			}
			for i, end := range ends {
				if i >= found {
					var out procmgr.Output
					var err error
					eventually(t, "it is found", func() bool {
						out, err = k.output(id, procmgr.OutputRequest{})
						return err != nil || out.Process.State == procmgr.Detached || out.Process.ExitCode == nil || out.Process.EndedBy == procmgr.CauseLost
					})
					require.NoError(t, err)
					is(out)
				}
				t.Logf("%s, %d: end %d", ends, found, i)
				if end == 'c' {
					k.crash()
				} else {
					k.upgrade()
				}
			}
			out, err := k.output(id, procmgr.OutputRequest{})
			require.NoError(t, err)
			is(out)
			require.Equal(t, procmgr.Detached, out.Process.State)
			require.NoError(t, k.signal(id, procmgr.Kill))
			out = k.exited(id)
			is(out)
			require.Equal(t, procmgr.CauseRequest, out.Process.EndedBy)
		}
	}
}

// Without a log the text of before is gone, and Output says so.
func TestCrashWithoutLog(t *testing.T) {
	k := newKeeping(t, "")
	_, err := k.start(procmgr.StartRequest{ID: "done", Command: "echo 0123456789; exit 5"})
	require.NoError(t, err)
	k.exited("done")
	k.crash()
	out, err := k.output("done", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, 5, *out.Process.ExitCode)
	require.Equal(t, int64(11), out.Next)
	require.Equal(t, int64(11), out.Truncated.OmittedBytes)
}

// If nobody can tell how much output was lost, the output says that: after the loss,
// after another one, and to the end. What is read from behind the loss is whole.
func TestLossThatNobodyHasCounted(t *testing.T) {
	for _, logged := range []bool{false, true} {
		t.Run(fmt.Sprint("log ", logged), func(t *testing.T) {
			dir, text := t.TempDir(), ""
			logs := ""
			if logged {
				logs, text = filepath.Join(dir, "logs"), "before\n"
			}
			k := newKeeping(t, logs)
			_, err := k.start(procmgr.StartRequest{ID: "ended", Command: "echo before"})
			require.NoError(t, err)
			k.exited("ended")
			_, err = k.start(procmgr.StartRequest{ID: "lives", Command: "echo before; exec sleep 1000"})
			require.NoError(t, err)
			out, err := k.output("lives", procmgr.OutputRequest{Until: "before", Wait: long})
			require.NoError(t, err)
			require.Nil(t, out.Truncated)
			if logged { // the log gets a text just after it can be read
				eventually(t, "it is in the log", func() bool {
					text, err := os.ReadFile(out.Process.LogPath)
					return err == nil && len(text) == 7
				})
			}
			k.killWithHolder()
			lost := func(when string) {
				t.Helper()
				out, err := k.output("lives", procmgr.OutputRequest{From: 99})
				require.NoError(t, err)
				require.NotNil(t, out.Truncated, when)
				out, err = k.output("lives", procmgr.OutputRequest{})
				require.NoError(t, err)
				require.Equal(t, text, out.Text)
				n := int64(len(text))
				require.Equal(t, &headtail.Truncation{OriginalBytes: n, RetainedBytes: n, Strategy: "head_tail", Unknown: true}, out.Truncated, when)
				require.Equal(t, logged, out.Process.LogError != "")
			}
			lost("after the loss")
			k.crash()
			lost("after a death that loses nothing")
			k.upgrade()
			lost("after an upgrade")
			require.NoError(t, k.signal("lives", procmgr.Kill))
			k.exited("lives")
			lost("after the end")
			k.crash()
			lost("after a death after the end")
			out, err = k.output("ended", procmgr.OutputRequest{})
			require.NoError(t, err)
			if logged {
				require.Nil(t, out.Truncated)
			} else {
				require.Equal(t, &headtail.Truncation{OriginalBytes: 7, OmittedBytes: 7, Strategy: "head_tail"}, withoutCuts(out.Truncated))
			}
		})
	}
}

// withoutCuts returns the numbers of a Truncation.
func withoutCuts(t *headtail.Truncation) *headtail.Truncation {
	if t == nil {
		return nil
	}
	numbers := *t
	numbers.Cuts = nil
	return &numbers
}

// An upgrade to another program loses nothing: state in the middle of a line, of an
// escape sequence, of a terminal, of a wait for a line, of an input.
func TestUpgradeToAnotherProgram(t *testing.T) {
	k := newKeeping(t, "")
	_, err := k.start(procmgr.StartRequest{ID: "cat", Command: "cat; exit 4", Stdin: procmgr.StdinPipe, Notify: "^two three$"})
	require.NoError(t, err)
	_, err = k.start(procmgr.StartRequest{ID: "term", Command: "printf 'a\\033[2;3Hb'; read x; printf c; read x; exit 6", Stdin: procmgr.StdinTerminal})
	require.NoError(t, err)
	_, err = k.start(procmgr.StartRequest{ID: "gone", Command: "exit 8", Wait: long})
	require.NoError(t, err)
	_, err = k.start(procmgr.StartRequest{ID: "left", Command: "(sleep 1000 &) ; exit 3", Wait: long})
	require.NoError(t, err)
	require.ErrorContains(t, k.signal("spent", procmgr.Kill), "no such process")
	eventually(t, "the screen is drawn", func() bool {
		out, err := k.output("term", procmgr.OutputRequest{Screen: true})
		require.NoError(t, err)
		return len(out.Screen.Rows) > 1 && out.Screen.Rows[1] == "  b"
	})
	page := k.events(procmgr.EventsRequest{})
	var text string
	for i, piece := range []string{"one\ntw", "o th", "\x1b[", "1mree", "\n10%\r2", "0%\r30%", "\n\xe2", "\x82", "\xac\n"} {
		_, err := k.input("cat", procmgr.InputRequest{Key: fmt.Sprint("k", i), Data: []byte(piece)})
		require.NoError(t, err)
		k.upgrade()
		again, err := k.input("cat", procmgr.InputRequest{Key: fmt.Sprint("k", i), Data: []byte(piece)})
		require.NoError(t, err)
		require.Equal(t, len(piece), again.Written)
	}
	_, err = k.input("cat", procmgr.InputRequest{Close: true})
	require.NoError(t, err)
	out := k.exited("cat")
	text = out.Text
	require.Equal(t, "one\ntwo three\n10%\n30%\n€\n", text)
	require.Equal(t, 4, *out.Process.ExitCode)

	_, err = k.input("term", procmgr.InputRequest{Data: []byte("\n")})
	require.NoError(t, err)
	k.upgrade()
	eventually(t, "the screen goes on", func() bool {
		out, err := k.output("term", procmgr.OutputRequest{Screen: true})
		require.NoError(t, err)
		return out.Screen.Rows[0] == "a" && out.Screen.Rows[1] == "  b" && out.Screen.Rows[2] == "c"
	})
	_, err = k.input("term", procmgr.InputRequest{Data: []byte("\n")})
	require.NoError(t, err)
	require.Equal(t, 6, *k.exited("term").Process.ExitCode)

	out, err = k.start(procmgr.StartRequest{ID: "gone", Command: "exit 8"})
	require.NoError(t, err)
	require.True(t, out.Attached)
	_, err = k.start(procmgr.StartRequest{ID: "spent", Command: "echo ran"})
	require.ErrorContains(t, err, procmgr.ErrConflict.Error())
	require.NoError(t, k.signal("left", procmgr.Kill))
	k.exited("left")

	rest := k.events(procmgr.EventsRequest{After: page.Next, Limit: -1})
	require.False(t, rest.Gap, "the cursor of before is good")
	kinds := make(map[string][]procmgr.EventKind)
	for _, e := range append(page.Events, rest.Events...) {
		if e.Kind != procmgr.EventWaiting { // which the time between two inputs decides
			kinds[e.Process.ID] = append(kinds[e.Process.ID], e.Kind)
		}
	}
	require.Equal(t, map[string][]procmgr.EventKind{
		"cat":  {procmgr.EventStarted, procmgr.EventMatched, procmgr.EventExited},
		"term": {procmgr.EventStarted, procmgr.EventExited},
		"gone": {procmgr.EventStarted, procmgr.EventExited},
		"left": {procmgr.EventStarted, procmgr.EventDetached, procmgr.EventExited},
	}, kinds)
}
