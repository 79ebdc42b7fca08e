//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// server is a command that leaves a line in a file each time it runs.
func server(effects string) string { return "echo run >> " + effects + "; echo ready; exec sleep 1000" }

// lines returns the lines of a file, which must not repeat.
func lines(t testing.TB, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		require.False(t, seen[line], "it ran twice: %s", line)
		seen[line] = true
	}
	return seen
}

// A program is killed. Its processes go on, and the next program knows all of them.
func TestProgramIsKilled(t *testing.T) {
	dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
	cmd := program(t, "work", dir, "web", server(effects))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	h := open(t, dir, nil)
	again := start(t, h.Chat("a"), procmgr.StartRequest{ID: "web", Command: server(effects)})
	require.True(t, again.Attached)
	require.Equal(t, procmgr.Running, again.Process.State)
	require.Len(t, lines(t, effects), 1)
	_, err = h.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "web", Command: "another"})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	_, err = h.Chat("b").Output(t.Context(), "web", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrNotFound)
}

// roleWork starts a command under an ID and says when it prints. Without a command, it
// starts, reads and writes until it is killed.
func roleWork(args []string) error {
	ctx := context.Background()
	h, err := prockeep.Open(ctx, args[0], &prockeep.Options{Idle: lifetime})
	if err != nil {
		return err
	}
	m := h.Chat("a")
	if len(args) > 2 {
		if _, err := m.Start(ctx, procmgr.StartRequest{ID: args[1], Command: args[2]}); err != nil {
			return err
		}
		out, err := m.Output(ctx, args[1], procmgr.OutputRequest{Until: ".", Wait: long})
		if err != nil {
			return err
		}
		fmt.Print(out.Text)
		select {}
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s-%d", args[1], i)
		fmt.Println(id)
		if _, err := m.Start(ctx, procmgr.StartRequest{ID: id, Command: work(args[0], id), Stdin: procmgr.StdinPipe}); err != nil {
			return err
		}
		if _, err := m.Input(ctx, id, procmgr.InputRequest{Data: []byte("go\n"), IdempotencyKey: "k"}); err != nil {
			return err
		}
		if _, err := m.Output(ctx, id, procmgr.OutputRequest{Wait: long, State: procmgr.Running}); err != nil {
			return err
		}
	}
}

func work(dir, id string) string {
	return fmt.Sprintf("echo %s >> %s.effects; read line; echo got $line >> %[2]s.input-%[1]s; exit 7", id, dir)
}

// Programs are killed at random moments of starts, reads and writes: every command has
// run once, and every ID is known.
func TestHeldKilledAtRandom(t *testing.T) {
	testenv.Held(t)
	dir := newDir(t)
	h := open(t, dir, nil)
	for round := range testenv.Rounds(40, 200) {
		cmd := program(t, "work", dir, fmt.Sprint("w", round))
		var asked bytes.Buffer
		cmd.Stdout, cmd.Stderr = &asked, nil
		require.NoError(t, cmd.Start())
		time.Sleep(rand.N(150 * time.Millisecond))
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		for id := range strings.FieldsSeq(asked.String()) {
			// Asked again, it is attached, or it runs now.
			out := start(t, h.Chat("a"), procmgr.StartRequest{ID: id, Command: work(dir, id), Stdin: procmgr.StdinPipe})
			_, err := h.Chat("a").Input(t.Context(), id, procmgr.InputRequest{Data: []byte("go\n"), IdempotencyKey: "k"})
			if !errors.Is(err, procmgr.ErrNotRunning) {
				require.NoError(t, err)
			}
			for out.Process.State != procmgr.Exited {
				out = output(t, h.Chat("a"), id, procmgr.OutputRequest{Wait: long, State: out.Process.State})
			}
			require.Equal(t, 7, *out.Process.ExitCode)
			text, err := os.ReadFile(dir + ".input-" + id)
			require.NoError(t, err)
			require.Equal(t, "got go\n", string(text))
			require.True(t, lines(t, dir+".effects")[id+"\n"])
		}
	}
	t.Log(len(lines(t, dir+".effects")), "commands")
}

// Two programs that open a directory at the same instant share one keeper.
func TestSameInstant(t *testing.T) {
	dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			out, err := program(t, "print", dir, "one", "echo run >> "+effects+"; echo $PPID").Output()
			require.NoError(t, err)
			require.NotEmpty(t, out)
		})
	}
	wg.Wait()
	h := open(t, dir, nil)
	require.Len(t, lines(t, effects), 1)
	out := output(t, h, "one", procmgr.OutputRequest{})
	require.Equal(t, fmt.Sprintln(keeperPID(t, h)), out.Text)
}

// A new keeper takes over, and the earlier one keeps what it has until it has drained.
func TestReplace(t *testing.T) {
	dir := newDir(t)
	old := open(t, dir, &prockeep.Options{Local: proclocal.Options{Retain: time.Second}})
	first := keeperPID(t, old)
	begin(t, old.Chat("a"), "web", "echo ready; exec sleep 1000")
	input := start(t, old.Chat("a"), procmgr.StartRequest{ID: "in", Command: "read line; echo got $line; exit 3", Stdin: procmgr.StdinPipe})
	require.Equal(t, first, parentOf(t, input.Process.PID))

	h := open(t, dir, &prockeep.Options{Replace: true, Local: proclocal.Options{Retain: time.Second}})
	second := keeperPID(t, h)
	require.NotEqual(t, first, second)
	require.Equal(t, second, keeperPID(t, old), "an earlier Host starts in the new keeper")
	_, err := h.Chat("a").Input(t.Context(), "in", procmgr.InputRequest{Data: []byte("you\n")})
	require.NoError(t, err)
	out := output(t, h.Chat("a"), "in", procmgr.OutputRequest{Wait: long, State: procmgr.Running})
	require.Equal(t, "got you\n", out.Text)
	require.Equal(t, 3, *out.Process.ExitCode)
	again := start(t, h.Chat("a"), procmgr.StartRequest{ID: "in", Command: "read line; echo got $line; exit 3", Stdin: procmgr.StdinPipe})
	require.True(t, again.Attached)

	page := events(t, h, procmgr.EventsRequest{})
	require.NoError(t, h.Chat("a").Signal(t.Context(), "web", procmgr.Kill))
	require.Eventually(t, func() bool { return !alive(first) }, long, 10*time.Millisecond)
	// Its results are gone with it, and what its IDs have come to is still known.
	out = output(t, h.Chat("a"), "in", procmgr.OutputRequest{})
	require.Equal(t, procmgr.Exited, out.Process.State)
	require.Equal(t, 3, *out.Process.ExitCode)
	again = start(t, h.Chat("a"), procmgr.StartRequest{ID: "in", Command: "read line; echo got $line; exit 3", Stdin: procmgr.StdinPipe})
	require.True(t, again.Attached)
	require.ErrorIs(t, h.Chat("a").Signal(t.Context(), "in", procmgr.Kill), procmgr.ErrNotRunning)
	late := events(t, h, procmgr.EventsRequest{After: page.Next})
	require.True(t, late.Gap, "the last event of the keeper went with it")
	late = events(t, h, procmgr.EventsRequest{After: late.Next})
	require.False(t, late.Gap)
}

func parentOf(t testing.TB, pid int) (parent int) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	var state string
	_, err = fmt.Sscan(rest, &state, &parent)
	require.NoError(t, err)
	return parent
}

// Many upgrades in a row under one wait and ten living servers: the wait returns, the
// servers live, and one list shows all of them.
func TestHeldReplaces(t *testing.T) {
	testenv.Held(t)
	dir := newDir(t)
	h := open(t, dir, nil)
	for i := range 10 {
		begin(t, h.Chat("a"), fmt.Sprint("server-", i), "echo ready; exec sleep 1000")
	}
	cursor := events(t, h, procmgr.EventsRequest{Limit: -1})
	ended := make(chan error, 1)
	go func() {
		out, err := h.Chat("a").Start(context.Background(), procmgr.StartRequest{ID: "wait", Command: "sleep 25; echo done; exit 5", Wait: long})
		if err == nil && (out.Text != "done\n" || out.Process.ExitCode == nil || *out.Process.ExitCode != 5) {
			err = fmt.Errorf("it has returned %+v", out)
		}
		ended <- err
	}()
	keepers := make(map[int]bool)
	for i := range 20 {
		next := open(t, dir, &prockeep.Options{Replace: true})
		keepers[keeperPID(t, h)] = true
		begin(t, next.Chat("a"), fmt.Sprint("later-", i), "echo ready; exec sleep 1000")
	}
	require.Len(t, keepers, 20)
	require.NoError(t, <-ended)
	page, err := h.Chat("a").List(t.Context(), procmgr.ListRequest{State: procmgr.Running})
	require.NoError(t, err)
	require.Equal(t, 30, page.Live)
	seen := make(map[string]int)
	for after := cursor.Next; ; {
		more := events(t, h.Chat("a"), procmgr.EventsRequest{After: after})
		require.False(t, more.Gap)
		if after = more.Next; len(more.Events) == 0 {
			break
		}
		for _, e := range more.Events {
			seen[string(e.Kind)+" "+e.Process.ID]++
		}
	}
	require.Len(t, seen, 22, "%v", seen)
	for event, n := range seen {
		require.Equal(t, 1, n, event)
	}
	for _, p := range page.Processes {
		require.NoError(t, h.Chat("a").Signal(t.Context(), p.ID, procmgr.Kill))
	}
}

// Options that identify a keeper have to agree. Limits come from the program that has
// opened the directory last.
func TestIdentity(t *testing.T) {
	dir := newDir(t)
	h := open(t, dir, &prockeep.Options{Local: proclocal.Options{MaxRunning: 2}})
	for field, local := range map[string]proclocal.Options{
		"Env":    {Env: envpolicy.Policy{Allow: []string{"*"}}},
		"Redact": {Redact: []proclocal.Secret{{Name: "A", Value: "long enough"}}},
		"Shell":  {Shell: []string{"sh", "-c"}},
	} {
		_, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Local: local})
		require.ErrorIs(t, err, procmgr.ErrConflict)
		require.ErrorContains(t, err, "Options.Local."+field+":")
	}
	begin(t, h, "1", "echo ready; exec sleep 1000")
	begin(t, h, "2", "echo ready; exec sleep 1000")
	_, err := h.Chat("a").Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	require.ErrorContains(t, err, "this host runs as many processes as it may; try again")
	second := open(t, dir, nil)
	ended := run(t, h, "echo text").Process.ID
	short := open(t, dir, &prockeep.Options{Local: proclocal.Options{Retain: time.Nanosecond}})
	require.Eventually(t, func() bool {
		out, err := h.Output(t.Context(), ended, procmgr.OutputRequest{})
		return err == nil && out.Text == "" && *out.Process.ExitCode == 0
	}, long, 10*time.Millisecond)
	require.NoError(t, short.Close())

	third := open(t, dir, &prockeep.Options{Replace: true, Local: proclocal.Options{Shell: []string{"sh", "-c"}, MaxRunning: 3}})
	_, err = second.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.ErrorContains(t, err, "Shell")
	out := start(t, second, procmgr.StartRequest{ID: "1", Command: "echo ready; exec sleep 1000"})
	require.True(t, out.Attached)
	begin(t, third, "3", "echo ready; exec sleep 1000")
	_, err = third.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrLimit, "the processes of all keepers count")
}

// Hooks, metrics and the log of a program work with a keeper, over its replacement.
func TestHooks(t *testing.T) {
	dir := newDir(t)
	var mu sync.Mutex
	var started, exited []string
	var refused atomic.Int64
	var causes []procmgr.Cause
	log := new(bytes.Buffer)
	local := proclocal.Options{
		OnStart: func(p procmgr.Process) { mu.Lock(); defer mu.Unlock(); started = append(started, p.ID) },
		OnExit:  func(p procmgr.Process) { mu.Lock(); defer mu.Unlock(); exited = append(exited, p.ID) },
		Metrics: &proclocal.Metrics{
			Refused: func(error) { refused.Add(1) },
			Exited:  func(c procmgr.Cause, _ time.Duration) { mu.Lock(); defer mu.Unlock(); causes = append(causes, c) },
		},
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	other := open(t, dir, nil)
	begin(t, other, "before", "echo ready; exec sleep 1000")
	h := open(t, dir, &prockeep.Options{Local: local})
	for i, m := range []procmgr.Manager{h, other.Chat("b"), h.Chat("a")} {
		if i == 2 {
			open(t, dir, &prockeep.Options{Replace: true})
		}
		start(t, m, procmgr.StartRequest{ID: fmt.Sprint("p", i), Command: "exit 1", Wait: long})
	}
	_, err := h.Start(t.Context(), procmgr.StartRequest{Command: " "})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.NoError(t, other.Signal(t.Context(), "before", procmgr.Kill))
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(exited) == 4 }, long, time.Millisecond)
	require.NoError(t, h.Close())
	require.ElementsMatch(t, []string{"p0", "p1", "p2"}, started)
	require.ElementsMatch(t, []string{"p0", "p1", "p2", "before"}, exited)
	require.Equal(t, int64(1), refused.Load())
	require.ElementsMatch(t, []procmgr.Cause{procmgr.CauseExit, procmgr.CauseExit, procmgr.CauseExit, procmgr.CauseRequest}, causes)
	require.Contains(t, log.String(), "process_id=p1 chat_id=b")
}

// A command has the environment, the directory and the masks of the program that starts
// it, never the ones of the keeper's program.
func TestEnvironment(t *testing.T) {
	dir, here := newDir(t), t.TempDir()
	h := open(t, dir, &prockeep.Options{Local: proclocal.Options{
		UpdateEnv: func(_ string, env []string) ([]string, error) {
			return append(env, "ADDED=yes", "SERVICE_TOKEN=zwrHqMpkTgUzcVwdPfLs8x2n"), nil
		},
	}})
	t.Setenv("MINE", "1")
	t.Setenv("NOT_UTF8", "\xff")
	t.Setenv("API_TOKEN", "abcdEFGH1234ijklMNOP5678")
	t.Chdir(here)
	out := run(t, h, "pwd; echo $MINE $ADDED $SERVICE_TOKEN $NOT_UTF8; env | grep -c ^API_TOKEN; echo abcdEFGH1234ijklMNOP5678 $API_TOKEN")
	require.Equal(t, here+"\n1 yes [withheld: SERVICE_TOKEN]\n0\n[withheld: API_TOKEN]\n", out.Text)
	require.Equal(t, []string{"API_TOKEN", "NOT_UTF8"}, out.Withheld)
	for _, file := range []string{"ids", "keeper.log"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		require.NotContains(t, string(text), "abcdEFGH1234")
	}
}

// The opener's PerChat says what the commands of a chat run with. An error refuses a start
// that would run something, and no other.
func TestPerChat(t *testing.T) {
	const mine, others = "zwrHqMpkTgUzcVwdPfLs8x2n", "q7Rk2mXw9Vt4Lp8Zs3Hd6Jf1"
	own, a := t.TempDir(), t.TempDir()
	t.Setenv("HOST_TOKEN", others)
	t.Setenv("PLAIN", "plain")
	failure := error(nil)
	h := open(t, newDir(t), &prockeep.Options{Local: proclocal.Options{WorkDir: own, PerChat: func(_ context.Context, chatID string) (*proclocal.ChatOptions, error) {
		if chatID != "a" {
			return nil, failure
		}
		env := &envpolicy.Policy{Exclude: []string{"PLAIN"}, Set: map[string]string{"A_TOKEN": mine}}
		return &proclocal.ChatOptions{Env: env, WorkDir: a, MaxRunning: 1}, failure
	}, UpdateEnv: func(chatID string, env []string) ([]string, error) { return append(env, "CHAT="+chatID), nil }}})
	command := "echo $CHAT ${PLAIN-none} ${A_TOKEN:+set} " + mine + " " + others + "; pwd"
	require.Equal(t, "a none set [withheld: A_TOKEN] [withheld: HOST_TOKEN]\n"+a+"\n", run(t, h.Chat("a"), command).Text)
	require.Equal(t, "b plain "+mine+" [withheld: HOST_TOKEN]\n"+own+"\n", run(t, h.Chat("b"), command).Text)
	out := start(t, h.Chat("a"), procmgr.StartRequest{Command: "stty size; echo $TERM", WorkDir: "..", Stdin: procmgr.StdinTerminal, Wait: long})
	require.Equal(t, filepath.Dir(a), out.Process.WorkDir)
	require.Equal(t, "40 120\nscreen-256color\n", out.Text)

	web := procmgr.StartRequest{ID: "web", Command: "exec sleep 1000"}
	for _, chat := range []string{"a", "b"} {
		start(t, h.Chat(chat), web)
	}
	_, err := h.Chat("a").Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	require.ErrorContains(t, err, "1 process runs in this chat, and its limit is 1; end one of this chat's first (it is web)")
	run(t, h.Chat("b"), "true")

	failure = errors.New("this account is suspended")
	out = start(t, h.Chat("a"), web)
	require.True(t, out.Attached)
	_, err = h.Chat("b").Start(t.Context(), procmgr.StartRequest{ID: "new", Command: "true"})
	require.Equal(t, "this account is suspended", procmgr.Reason(err))
	_, err = h.Chat("b").Output(t.Context(), "new", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrNotFound)
}

// If PerChat panics, that start is invalid and runs nothing. If UpdateEnv fails, that is
// logged and the start goes on.
func TestOpenerFunctionsFail(t *testing.T) {
	dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
	var fail func()
	update := func() error { return errors.New("no vault") }
	log := new(bytes.Buffer)
	h := open(t, dir, &prockeep.Options{Local: proclocal.Options{
		Logger:    slog.New(slog.NewTextHandler(log, nil)),
		PerChat:   func(context.Context, string) (*proclocal.ChatOptions, error) { fail(); return nil, nil },
		UpdateEnv: func(string, []string) ([]string, error) { return nil, update() },
	}})
	fail = func() { panic("oops") }
	_, err := h.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "echo run >> " + effects, Wait: long})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.NoFileExists(t, effects)
	fail = func() {}
	out := start(t, h, procmgr.StartRequest{ID: "x", Command: "echo run >> " + effects, Wait: long})
	require.False(t, out.Attached)
	require.Len(t, lines(t, effects), 1)
	update = func() error { panic("no lease") }
	start(t, h, procmgr.StartRequest{Command: "true"})
	require.NoError(t, h.Close())
	for _, reason := range []string{"oops", "no vault", "no lease"} {
		require.Contains(t, log.String(), reason)
	}
}

// The directory that the opener's options name means the same as without a keeper.
func TestWorkDir(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	require.NoError(t, os.Mkdir("sub", 0o700))
	keeper := newDir(t)
	for dir, want := range map[string]string{"": here, "sub": here + "/sub", here + "/sub": here + "/sub", "~": os.Getenv("HOME")} {
		h := open(t, keeper, &prockeep.Options{Local: proclocal.Options{WorkDir: dir}})
		require.Equal(t, want+"\n", run(t, h, "pwd").Text, dir)
	}
	_, err := prockeep.Open(t.Context(), keeper, &prockeep.Options{Local: proclocal.Options{WorkDir: "none"}})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "no such directory: "+here+"/none")
	h := open(t, keeper, &prockeep.Options{Local: proclocal.Options{WorkDir: "sub"}})
	require.NoError(t, os.Remove("sub"))
	_, err = h.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "the configured directory cannot be used")
}

// Stop ends all keepers, and IDs are unused again.
func TestStop(t *testing.T) {
	dir := newDir(t)
	h := open(t, dir, nil)
	web := begin(t, h, "web", "echo ready; exec sleep 1000").Process.PID
	first := keeperPID(t, h)
	next := open(t, dir, &prockeep.Options{Replace: true})
	second := keeperPID(t, next)
	require.NoError(t, next.Stop(t.Context()))
	for _, pid := range []int{web, first, second} {
		require.False(t, alive(pid))
	}
	_, err := next.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrClosed)
	_, err = prockeep.Find(t.Context(), dir)
	require.ErrorIs(t, err, procmgr.ErrNotFound)
	out, err := open(t, dir, nil).Start(t.Context(), procmgr.StartRequest{ID: "web", Command: "another", Wait: long})
	require.NoError(t, err)
	require.False(t, out.Attached)
}

// The newest keeper dies before an earlier one has drained, which is found all the same.
func TestFind(t *testing.T) {
	dir := newDir(t)
	_, err := prockeep.Find(t.Context(), dir)
	require.ErrorIs(t, err, procmgr.ErrNotFound)
	require.ErrorContains(t, err, "find: no keeper runs in this directory, so it has no processes: ")
	old := open(t, dir, nil)
	begin(t, old, "web", "echo ready; exec sleep 1000")
	kill(t, keeperPID(t, open(t, dir, &prockeep.Options{Replace: true})))
	h, err := prockeep.Find(t.Context(), dir)
	require.NoError(t, err)
	_, err = h.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	out := output(t, h, "web", procmgr.OutputRequest{})
	require.Equal(t, procmgr.Running, out.Process.State)
	require.NoError(t, h.Stop(t.Context()))
	require.False(t, alive(out.Process.PID))
}

// An idle keeper ends. The next one knows what has run.
func TestIdle(t *testing.T) {
	dir := newDir(t)
	h := open(t, dir, &prockeep.Options{Idle: 10 * time.Millisecond})
	out := start(t, h, procmgr.StartRequest{ID: "one", Command: "exit 4", Wait: long})
	require.Equal(t, 4, *out.Process.ExitCode)
	first := keeperPID(t, h)
	require.Eventually(t, func() bool { return !alive(first) }, long, 10*time.Millisecond)
	out = start(t, h, procmgr.StartRequest{ID: "one", Command: "exit 4", Wait: long})
	require.True(t, out.Attached)
	require.Equal(t, 4, *out.Process.ExitCode)
	require.NotEqual(t, first, keeperPID(t, h))
}

// Programs start commands just when keepers end because they are idle.
func TestHeldStartsWhileKeepersEnd(t *testing.T) {
	testenv.Held(t)
	dir := newDir(t)
	h := open(t, dir, &prockeep.Options{Idle: time.Millisecond})
	for i := range testenv.Rounds(30, 200) {
		out := start(t, h, procmgr.StartRequest{Command: fmt.Sprint("echo ", i), Wait: long})
		require.Equal(t, fmt.Sprintln(i), out.Text)
		time.Sleep(950*time.Millisecond + rand.N(100*time.Millisecond))
	}
}

// A program that cannot become a keeper says so.
func TestNoMain(t *testing.T) {
	cmd := program(t, "forgot", newDir(t), "x", "true")
	cmd.Stderr = nil
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "has not called prockeep.Main")
	_, err = prockeep.Open(t.Context(), filepath.Join(t.TempDir(), strings.Repeat("x", 100)), nil)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}

// A stop that comes before its start prevents it, whichever keeper is the newest then.
func TestStopBeforeStart(t *testing.T) {
	dir := newDir(t)
	h := open(t, dir, nil)
	require.ErrorIs(t, h.Chat("a").Signal(t.Context(), "x", procmgr.Terminate), procmgr.ErrNotFound)
	next := open(t, dir, &prockeep.Options{Replace: true})
	for _, h := range []*prockeep.Host{h, next} {
		_, err := h.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
		require.ErrorIs(t, err, procmgr.ErrConflict)
	}
	first := keeperPID(t, next)
	require.NoError(t, syscall.Kill(first, syscall.SIGTERM))
	require.Eventually(t, func() bool { return !alive(first) }, long, time.Millisecond)
	_, err := next.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.ErrorContains(t, err, "it was stopped before it began")
}

// What a keeper knows of IDs is as old as its directory, whichever keepers there were.
func TestAge(t *testing.T) {
	dir := newDir(t)
	h := open(t, dir, nil)
	try := func(id string, age time.Duration) (bool, error) {
		out, err := h.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "exit 4", Age: age, Wait: long})
		return out.Attached, err
	}
	_, err := try("one", time.Minute)
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	_, err = try("one", 0)
	require.NoError(t, err)
	opened := time.Now()
	_, err = try("two", time.Since(opened))
	require.NoError(t, err)
	h = open(t, dir, &prockeep.Options{Replace: true})
	_, err = try("three", time.Since(opened))
	require.NoError(t, err, "the earlier keeper has written down what it ran")
	require.NoError(t, os.RemoveAll(dir))
	again, err := try("one", time.Hour)
	require.NoError(t, err)
	require.True(t, again)
	_, err = try("four", time.Since(opened))
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	_, err = try("four", 0)
	require.NoError(t, err)
	require.NoError(t, h.Stop(t.Context()))
	h = open(t, dir, nil)
	_, err = try("one", time.Since(opened))
	require.ErrorIs(t, err, procmgr.ErrUnknown)
}

// The file knows more IDs than the keeper's Local, and answers a replay of any of them.
func TestHeldKeeperRemembersFewer(t *testing.T) {
	testenv.Held(t)
	h := open(t, newDir(t), &prockeep.Options{Local: proclocal.Options{Retain: time.Millisecond}})
	m, req := h.Chat("a"), procmgr.StartRequest{ID: "x", Command: "exit 4", Wait: long}
	start(t, m, req)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2100 { // more than 16,384 in all
				assert.ErrorIs(t, m.Signal(t.Context(), procmgr.NewID(), procmgr.Terminate), procmgr.ErrNotFound)
			}
		})
	}
	all.Wait()
	out := start(t, m, req)
	require.True(t, out.Attached)
	require.Equal(t, 4, *out.Process.ExitCode)
	req.Command = "exit 5"
	_, err := m.Start(t.Context(), req)
	require.ErrorIs(t, err, procmgr.ErrConflict)
}

// A lifetime ends a process although the program that has asked for it is gone.
func TestMaxLifetime(t *testing.T) {
	dir := newDir(t)
	for id, tc := range map[string][2]time.Duration{"keeper": {500 * time.Millisecond, 0}, "request": {time.Hour, 500 * time.Millisecond}} {
		h, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Local: proclocal.Options{MaxLifetime: tc[0]}, Replace: true, Idle: lifetime})
		require.NoError(t, err)
		start(t, h, procmgr.StartRequest{ID: id, Command: "exec sleep 1000", MaxLifetime: tc[1]})
		require.NoError(t, h.Close())
		out, err := open(t, dir, nil).Output(t.Context(), id, procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		require.Equal(t, procmgr.CauseLifetime, out.Process.EndedBy)
	}
}
