package proclocal_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// waitFile waits until a command has made a file.
func waitFile(t *testing.T, path string) {
	t.Helper()
	eventually(t, path+" is there", func() bool { _, err := os.Stat(path); return err == nil })
}

// What a Local knew when its program was killed is known to the next one: IDs,
// codes, output that a log has, and what runs on.
func TestCrash(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	dir := t.TempDir()
	k := newKeeping(t, filepath.Join(dir, "logs"))
	defer k.end()
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
	waitFile(t, at("talks"))
	cursor := k.events(procmgr.EventsRequest{}).Next
	for {
		out, err := k.output("left", procmgr.OutputRequest{State: procmgr.Running, Wait: long})
		require.NoError(t, err)
		if out.Process.State == procmgr.Detached {
			break
		}
	}

	k.kill()
	require.NoError(t, os.WriteFile(at("gap"), nil, 0o600))
	time.Sleep(50 * time.Millisecond) // one ends while nobody is there; the test does not depend on it
	k.crash()

	states := make(map[string]procmgr.State)
	for _, p := range k.list() {
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
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
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
			k.end()
		}
	}
}

// Without a log the text of before is gone, and Output says so.
func TestCrashWithoutLog(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	k := newKeeping(t, "")
	defer k.end()
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

// If the holder has died too, what lives is still known by the journal. Its later
// output and its code are lost.
func TestCrashWithoutHolder(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	dir := t.TempDir()
	k := newKeeping(t, filepath.Join(dir, "logs"))
	defer k.end()
	_, err := k.start(procmgr.StartRequest{ID: "lives", Command: "echo before; while ! [ -e " + filepath.Join(dir, "go") + " ]; do sleep 0.01; done; exit 3"})
	require.NoError(t, err)
	_, err = k.start(procmgr.StartRequest{ID: "dies", Command: "exec sleep 1000"})
	require.NoError(t, err)
	_, err = k.output("lives", procmgr.OutputRequest{Until: "before", Wait: long})
	require.NoError(t, err)
	j := k.killWithHolder()
	for _, e := range j.Entries {
		if e.ID == "dies" {
			require.NoError(t, unix.Kill(k.h.leaders[e.Seq].PID, unix.SIGKILL))
			reaped(k.h.leaders[e.Seq].PID)
		}
	}
	k.launch(order{LogDir: k.logs, Journal: j}, nil)
	dies := k.exited("dies")
	require.Equal(t, procmgr.CauseLost, dies.Process.EndedBy)
	out, err := k.output("lives", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
	require.Equal(t, "before\n", out.Text)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	lives := k.exited("lives")
	require.Equal(t, procmgr.CauseLost, lives.Process.EndedBy)
	require.Nil(t, lives.Process.ExitCode)
}

// killWithHolder kills the program together with its holder, and returns the journal.
func (k *keeping) killWithHolder() *carry.Journal {
	k.kill()
	k.forgets = true
	j := k.h.journal()
	for seq, files := range j.Files {
		for _, f := range files {
			unix.Close(f.FD)
		}
		k.h.close(seq)
	}
	j.Files = nil
	return j
}

// If nobody can tell how much output was lost, the output says that: after the loss,
// after another one, and to the end. What is read from behind the loss is whole.
func TestLossThatNobodyHasCounted(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	for _, logged := range []bool{false, true} {
		t.Run(fmt.Sprint("log ", logged), func(t *testing.T) {
			dir, text := t.TempDir(), ""
			logs := ""
			if logged {
				logs, text = filepath.Join(dir, "logs"), "before\n"
			}
			k := newKeeping(t, logs)
			defer k.end()
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
			k.launch(order{LogDir: k.logs, Journal: k.killWithHolder()}, nil)
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

// A tombstone of a process of which output was lost says so too.
func TestTombstoneOfALoss(t *testing.T) {
	h := newHolder(t)
	dead := newKept(t, nil, h)
	_, err := dead.Chat("c").Start(t.Context(), procmgr.StartRequest{ID: "a", Command: "exec sleep 1000"})
	require.NoError(t, err)
	j := h.journal()
	for _, f := range j.Files[0] {
		unix.Close(f.FD)
	}
	delete(j.Files, 0)
	opts := &proclocal.Options{Retain: time.Millisecond}
	l, run, err := proclocal.Recover(opts, h, j)
	require.NoError(t, err)
	run()
	require.NoError(t, l.Chat("c").Signal(t.Context(), "a", procmgr.Kill))
	eventually(t, "only its tombstone is left", func() bool {
		page, err := l.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
		require.NoError(t, err)
		return len(all) == 0
	})
	out, err := l.Chat("c").Output(t.Context(), "a", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, &headtail.Truncation{Strategy: "head_tail", Unknown: true}, out.Truncated)
	l = upgraded(t, l, opts, h)
	out, err = l.Chat("c").Output(t.Context(), "a", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, &headtail.Truncation{Strategy: "head_tail", Unknown: true}, out.Truncated)
	require.NoError(t, dead.Close())
	require.NoError(t, l.Close())
}

// An upgrade to another program loses nothing: state in the middle of a line, of an
// escape sequence, of a terminal, of a wait for a line, of an input.
func TestUpgradeToAnotherProgram(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	k := newKeeping(t, "")
	defer k.end()
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
		kinds[e.Process.ID] = append(kinds[e.Process.ID], e.Kind)
	}
	require.Equal(t, map[string][]procmgr.EventKind{
		"cat":  {procmgr.EventStarted, procmgr.EventMatched, procmgr.EventExited},
		"term": {procmgr.EventStarted, procmgr.EventExited},
		"gone": {procmgr.EventStarted, procmgr.EventExited},
		"left": {procmgr.EventStarted, procmgr.EventDetached, procmgr.EventExited},
	}, kinds)
}

// A program that is killed at any moment of its starts, its waits and the ends of
// its processes loses none of them: each ID that was asked for has run once, or is
// told as lost and has run at most once.
func TestHeldCrashes(t *testing.T) {
	testenv.Held(t)
	testCrashes(t, 60)
}

// TestCrashes is a short TestHeldCrashes.
func TestCrashes(t *testing.T) { testCrashes(t, 12) }

func testCrashes(t *testing.T, crashes int) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	dir := t.TempDir()
	k := newKeeping(t, filepath.Join(dir, "logs"))
	defer k.end()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	lost, cut, fresh, unborn, all := 0, 0, 0, 0, 0
	for n := range crashes {
		const callers = 3
		var mu sync.Mutex
		asked := make(map[string]procmgr.StartRequest)
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for i := 0; ; i++ {
					id := fmt.Sprintf("%d-%d-%d", n, c, i)
					req := procmgr.StartRequest{ID: id, Command: fmt.Sprintf("echo ran >>%s; echo out %s; sleep 0.00%d; exit %d", filepath.Join(dir, id), id, i%4, 10+i%50)}
					mu.Lock()
					asked[id] = req
					mu.Unlock()
					req.Wait = time.Duration(i%3) * 5 * time.Millisecond
					if _, err := k.start(req); err != nil {
						return // the keeper is gone
					}
				}
			})
		}
		time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond) // the moment of the kill
		_ = k.cmd.Process.Kill()
		wg.Wait()
		k.crash()
		for id, req := range asked {
			all++
			out, err := k.start(req)
			require.NoError(t, err, id)
			if !out.Attached {
				fresh++
			}
			end := k.exited(id)
			ran, _ := os.ReadFile(filepath.Join(dir, id))
			if end.Process.EndedBy == procmgr.CauseLost {
				lost++
				require.LessOrEqual(t, len(ran), len("ran\n"), "%s ran twice", id)
				continue
			}
			if end.Process.Signal == "SIGKILL" || end.Process.Signal == "SIGTRAP" {
				// The leader was held before its first instruction, and died with the
				// program that held it.
				require.Empty(t, ran)
				unborn++
				continue
			}
			require.Equal(t, "ran\n", string(ran), "%s: %+v code %d text %q", id, end.Process, *end.Process.ExitCode, end.Text)
			require.Equal(t, procmgr.CauseExit, end.Process.EndedBy)
			require.Equal(t, 10+atoi(t, id[strings.LastIndexByte(id, '-')+1:])%50, *end.Process.ExitCode)
			if printed := "out " + id + "\n"; end.Text != printed {
				// It was read from the pipe, and not yet in the log. Or a read was under way,
				// and nobody knows whether it had taken anything.
				require.NotNil(t, end.Truncated, "%s: %q", id, end.Text)
				if kept, _, _ := strings.Cut(end.Text, "\n\n..."); kept == "" {
					require.GreaterOrEqual(t, end.Truncated.OmittedBytes, int64(len(printed)), "%s: %q", id, end.Text)
				} else {
					require.Equal(t, printed, kept)
					require.EqualValues(t, 64<<10, end.Truncated.OmittedBytes, "%s: %q", id, end.Text)
				}
				cut++
			}
		}
	}
	t.Logf("%d starts, %d crashes: %d had not begun, %d were killed before they began, %d are lost, the output of %d is cut", all, crashes, fresh, unborn, lost, cut)
}
