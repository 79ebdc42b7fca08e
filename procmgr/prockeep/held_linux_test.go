package prockeep_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
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

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/procstat"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/journal"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// counter prints numbered lines, and then exits with a code.
func counter(lines, code int) string {
	return fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo line-$i; i=$((i+1)); done; exit %d", lines, code)
}

// numbered is what counter prints.
func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line-%d\n", i)
	}
	return b.String()
}

// Upgrades under load: no byte, exit code, ID or event is lost or comes twice, and
// no command gets a descriptor of the keeper's.
func TestHeldUpgrades(t *testing.T) {
	testenv.Held(t)
	upgrades, exits := testenv.Rounds(10, 100), testenv.Rounds(100, 1000)
	dir := newDir(t)
	k := open(t, dir, &prockeep.Options{Local: proclocal.Options{MaxRunning: -1}})
	ctx := t.Context()

	// One command writes all the time.
	begin(t, k.Chat("long"), "long", "echo ready; i=0; while :; do echo line-$i; i=$((i+1)); sleep 0.001; done")
	var done atomic.Bool
	var wg sync.WaitGroup
	const workers = 4
	effects := filepath.Join(t.TempDir(), "effects")
	for w := range workers {
		wg.Go(func() {
			for i := range exits / workers {
				id, code := fmt.Sprintf("w%d-%d", w, i), i%200
				out, err := k.Chat("a").Start(ctx, procmgr.StartRequest{
					ID: id, Command: "echo " + id + " >> " + effects + "; ls /proc/self/fd | tr '\\n' ' ' >&2; " + counter(50, code), Wait: long,
				})
				if !assert.NoError(t, err, id) {
					return
				}
				for out.Process.State != procmgr.Exited && err == nil {
					out, err = k.Chat("a").Output(ctx, id, procmgr.OutputRequest{Wait: long})
				}
				fds, text, _ := strings.Cut(out.Text, "line-0\n")
				if !assert.NoError(t, err, id) || !assert.NotNil(t, out.Process.ExitCode, "%+v", out) ||
					!assert.Equal(t, code, *out.Process.ExitCode) || !assert.Equal(t, numbered(50), "line-0\n"+text, id) {
					return
				}
				assert.Equal(t, "0 1 2 3 ", fds, "a command has a descriptor too many") // 3 is the directory that ls reads
			}
		})
	}
	go func() { wg.Wait(); done.Store(true) }()
	n := 0
	for ; n < upgrades || !done.Load(); n++ {
		if n < upgrades {
			require.NoError(t, k.Upgrade(ctx))
		}
		time.Sleep(rand.N(20 * time.Millisecond))
	}
	wg.Wait()

	text, err := os.ReadFile(effects)
	require.NoError(t, err)
	require.Equal(t, exits/workers*workers, bytes.Count(text, []byte{'\n'}), "every command ran once")
	out, err := k.Chat("long").Output(ctx, "long", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
	require.NoError(t, k.Chat("long").Signal(ctx, "long", procmgr.Kill))
	requireNumbered(t, k.Chat("long"), "long")
	requireEvents(t, k.Chat("a"), exits/workers*workers)
}

// requireNumbered checks that the output of a command that prints "ready" and
// numbered lines has no gap.
func requireNumbered(t *testing.T, m procmgr.Manager, id string) {
	t.Helper()
	var all strings.Builder
	from := int64(0)
	for {
		out, err := m.Output(t.Context(), id, procmgr.OutputRequest{From: from})
		require.NoError(t, err)
		require.Nil(t, out.Truncated)
		if out.Next == from {
			break
		}
		all.WriteString(out.Text)
		from = out.Next
	}
	lines := strings.Split(all.String(), "\n")
	require.Equal(t, "ready", lines[0])
	for i, line := range lines[1 : len(lines)-1] {
		require.Equal(t, "line-"+strconv.Itoa(i), line)
	}
	t.Log(len(lines), "lines")
}

// requireEvents checks that each process has one start and one exit.
func requireEvents(t *testing.T, m procmgr.Manager, processes int) {
	t.Helper()
	count := make(map[string]int)
	after := ""
	for {
		page, err := m.Events(t.Context(), procmgr.EventsRequest{After: after})
		require.NoError(t, err)
		for _, e := range page.Events {
			count[string(e.Kind)+" "+e.Process.ID]++
		}
		if len(page.Events) == 0 {
			break
		}
		after = page.Next
	}
	for event, n := range count {
		require.Equal(t, 1, n, event)
	}
	t.Log(len(count), "events of", processes, "processes")
}

// The keeper is killed at random moments of start, wait, output and signal. Every
// ID is accounted for, nothing has run twice, and exit codes and output are right.
func TestHeldKeeperIsKilledAtRandom(t *testing.T) {
	testenv.Held(t)
	killAtRandom(t, testenv.Rounds(40, 200))
}

// TestKeeperIsKilledAtRandom is a short TestHeldKeeperIsKilledAtRandom.
func TestKeeperIsKilledAtRandom(t *testing.T) { killAtRandom(t, 12) }

func killAtRandom(t *testing.T, kills int) {
	dir := newDir(t)
	effects := filepath.Join(t.TempDir(), "effects")
	k := open(t, dir, &prockeep.Options{Local: proclocal.Options{LogDir: filepath.Join(filepath.Dir(dir), "logs")}})
	other := open(t, dir, nil)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var started, unknown, lost, cut atomic.Int64
	for w, h := range []*prockeep.Keeper{k, other} {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("k%d-%d", w, i)
				workWhileKilled(t, h.Chat("a"), id, effects, i%100, &unknown, &lost, &cut)
				started.Add(1)
			}
		})
	}
	for range kills {
		time.Sleep(rand.N(30 * time.Millisecond))
		if pid, err := strconv.Atoi(keeperOf(dir)); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	stop()
	wg.Wait()
	t.Logf("%d commands, %d answers were unknown, %d ends are lost, %d outputs are cut", started.Load(), unknown.Load(), lost.Load(), cut.Load())
	require.Less(t, cut.Load(), int64(kills)/4, "few print just when the keeper dies")
	text, err := os.ReadFile(effects)
	require.NoError(t, err)
	seen := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		require.False(t, seen[line], "it ran twice: %s", line)
		seen[line] = true
	}
}

// workWhileKilled starts a command, and asks again until its end is known.
func workWhileKilled(t *testing.T, m procmgr.Manager, id, effects string, code int, unknown, lost, cut *atomic.Int64) {
	req := procmgr.StartRequest{ID: id, Command: fmt.Sprintf("echo %s >> %s; %s", id, effects, counter(20, code))}
	ctx := context.Background()
	var out procmgr.Output
	var err error
	until := time.Now().Add(long)
	for tries := 0; time.Now().Before(until); tries++ {
		if out, err = m.Start(ctx, req); err == nil {
			break
		}
		unknown.Add(1)
	}
	if !assert.NoError(t, err, id) {
		return
	}
	for out.Process.State != procmgr.Exited && time.Now().Before(until) {
		var next procmgr.Output
		if next, err = m.Output(ctx, id, procmgr.OutputRequest{Wait: long}); err == nil {
			out = next
		} else if !assert.NotErrorIs(t, err, procmgr.ErrNotFound, id) {
			return
		}
	}
	switch {
	case !assert.Equal(t, procmgr.Exited, out.Process.State, "%s: %+v", stateOf(out.Process.PID), out):
	case out.Process.EndedBy == procmgr.CauseLost:
		lost.Add(1) // killed in the midst of the fork: it may have run
		t.Logf("%s is lost: %+v", id, out.Process)
	case assert.Empty(t, out.Process.Signal, "no tool has sent it: %+v", out.Process):
		assert.Equal(t, code, *out.Process.ExitCode, "%+v", out)
		if out.Truncated == nil && out.Text != numbered(20) {
			// What the keeper had read and not written to the log when it died is
			// lost: lines in a row. All that is there is right.
			assert.True(t, lacksOneRun(numbered(20), out.Text), "%s printed %q", id, out.Text)
			cut.Add(1)
		}
	}
}

// lacksOneRun reports whether a text is another one without some bytes in a row.
func lacksOneRun(whole, text string) bool {
	for i := range len(text) + 1 {
		if strings.HasPrefix(whole, text[:i]) && strings.HasSuffix(whole, text[i:]) {
			return true
		}
	}
	return false
}

// stateOf returns what the system says of a process.
func stateOf(pid int) string {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return string(stat)
}

// keeperOf returns the number of the keeper of a directory.
func keeperOf(dir string) string {
	for _, pid := range keepersOf(dir) {
		if name, _ := os.ReadFile("/proc/" + pid + "/comm"); string(bytes.TrimSpace(name)) == "toolproc-keeper" {
			return pid
		}
	}
	return ""
}

// A child that no entry of the journal names may have run, if it has reached its exec
// and ended, in whatever way, or if it lives and nothing tells yet whose it is.
func TestStrays(t *testing.T) {
	child := func(leads bool, env ...string) (pid int, kill func()) {
		cmd := exec.Command("sleep", "1000")
		cmd.Env, cmd.SysProcAttr = env, &syscall.SysProcAttr{Setsid: leads}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { require.Error(t, cmd.Wait()) })
		kill = sync.OnceFunc(func() {
			require.NoError(t, cmd.Process.Kill())
			require.Eventually(t, func() bool { return !alive(cmd.Process.Pid) }, long, time.Millisecond)
		})
		t.Cleanup(kill)
		return cmd.Process.Pid, kill
	}
	var nobody carry.Leader
	pid, kill := child(true, "A=b")
	require.Eventually(t, func() bool { return !prockeep.MayHaveRun(pid, false, nobody) }, long, time.Millisecond, "the search finds it, if it is a command")
	kill()
	require.True(t, prockeep.MayHaveRun(pid, true, nobody), "it may have killed itself")
	require.False(t, prockeep.MayHaveRun(pid, true, nobody, pid), "the holder has killed it before it began")
	now, ok := procstat.Look(pid)
	require.True(t, ok)
	require.False(t, prockeep.MayHaveRun(pid, true, carry.Leader{PID: pid, Start: now.Start}), "the journal tells of it")
	require.True(t, prockeep.MayHaveRun(pid, true, carry.Leader{PID: pid, Start: now.Start - 1}), "the journal tells of another one, whose number it has")
	pid, kill = child(false, "A=b")
	kill()
	require.False(t, prockeep.MayHaveRun(pid, true, nobody), "a leader leads its session")
	pid, _ = child(true, []string{}...)
	require.True(t, prockeep.MayHaveRun(pid, false, nobody), "it may be in the midst of its exec")
	require.True(t, prockeep.MayHaveRun(1<<30, true, nobody), "nobody knows")
}

// After a restart of the machine, the journal speaks of nothing that there is: IDs
// are unused again.
func TestJournalOfAnotherBoot(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	pid := keeperPID(t, k)
	req := procmgr.StartRequest{ID: "x", Command: "exit 3", Wait: long}
	_, err := k.Start(t.Context(), req)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(parentOf(t, pid), syscall.SIGKILL))
	kill(t, pid)
	path := filepath.Join(dir, "journal")
	j, err := journal.Open(path)
	require.NoError(t, err)
	require.NoError(t, j.Append(journal.Note, journal.Key{ID: "boot"}, []byte("another")))
	require.NoError(t, j.Close())
	out, err := open(t, dir, nil).Start(t.Context(), req)
	require.NoError(t, err)
	require.False(t, out.Attached)
}

// Keeper and holder are killed. The next keeper knows every ID and every end of
// before; what lives is found, but its end is not known, and its output is lost.
func TestHolderAndKeeperAreKilled(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	ctx := t.Context()
	pid := keeperPID(t, k)
	_, err := k.Chat("a").Start(ctx, procmgr.StartRequest{ID: "ended", Command: "exit 3", Wait: long})
	require.NoError(t, err)
	victim := begin(t, k.Chat("a"), "lives", "trap '' PIPE; echo ready; exec sleep 1000").Process.PID
	parent := parentOf(t, pid)
	require.NoError(t, syscall.Kill(parent, syscall.SIGKILL))
	kill(t, pid)
	require.Eventually(t, func() bool { return len(keepersOf(dir)) == 0 }, long, time.Millisecond)
	require.FileExists(t, filepath.Join(dir, "keeper"), "the socket is stale")

	k = open(t, dir, nil)
	out, err := k.Chat("a").Output(ctx, "ended", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, 3, *out.Process.ExitCode)
	out, err = k.Chat("a").Start(ctx, procmgr.StartRequest{ID: "lives", Command: "trap '' PIPE; echo ready; exec sleep 1000"})
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, procmgr.Running, out.Process.State)
	require.Equal(t, victim, out.Process.PID)
	require.NotNil(t, out.Truncated)
	require.True(t, out.Truncated.Unknown, "what it had printed is lost")
	require.NoError(t, k.Chat("a").Signal(ctx, "lives", procmgr.Kill))
	out, err = k.Chat("a").Output(ctx, "lives", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, out.Process.State)
	require.Nil(t, out.Process.ExitCode)
	require.False(t, alive(victim))
}

// A child of the dead keeper that is about to end is not taken for one that lives: a
// search finds nothing of it any more, and what it has run would run once more.
func TestExitingChild(t *testing.T) {
	for range 100 {
		cmd := program(t, "large")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		pid := cmd.Process.Pid
		require.True(t, prockeep.Lives(pid))
		require.NoError(t, cmd.Process.Kill())
		seen := false
		for !seen {
			p, ok := procstat.Look(pid)
			if !ok || p.Ended() {
				break
			}
			environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
			seen = len(environ) == 0
		}
		lives := prockeep.Lives(pid)
		require.Error(t, cmd.Wait())
		require.False(t, lives)
		if seen {
			return
		}
	}
	require.Fail(t, "it was never seen")
}

func parentOf(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	parent, err := strconv.Atoi(strings.Fields(rest)[1])
	require.NoError(t, err)
	return parent
}

// The holder is killed alone: nothing happens to the processes, and the keeper
// goes on. Its own death is then not survived.
func TestHolderIsKilled(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	pid := keeperPID(t, k)
	begin(t, k, "lives", "echo ready; read line; exit 3")
	require.NoError(t, syscall.Kill(parentOf(t, pid), syscall.SIGKILL))
	require.Equal(t, "yes\n", run(t, k, "echo yes").Text)
	require.Equal(t, pid, keeperPID(t, k))
	require.Eventually(t, func() bool {
		log, err := os.ReadFile(filepath.Join(dir, "keeper.log"))
		return err == nil && bytes.Contains(log, []byte("without a holder"))
	}, long, time.Millisecond)
	require.EqualError(t, k.Upgrade(t.Context()), "prockeep: upgrade: there is no holder any more")
	require.Equal(t, pid, keeperPID(t, k))
}

// A new program that cannot go on changes nothing.
func TestUpgradeIsRefused(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	pid := keeperPID(t, k)
	begin(t, k, "x", "echo ready; exec sleep 1000")
	bad, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Path: "/bin/true"})
	require.NoError(t, err)
	require.ErrorContains(t, bad.Upgrade(t.Context()), "the new program cannot go on for the keeper: it has ended (exit status 0)")
	require.Equal(t, pid, keeperPID(t, k))
	require.NoError(t, bad.Close())
	require.ErrorIs(t, bad.Upgrade(t.Context()), procmgr.ErrClosed)
	out, err := k.Output(t.Context(), "x", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
}

// Programs that upgrade at once follow each other.
func TestUpgradesAtOnce(t *testing.T) { upgradeAtOnce(t, 4) }

// They are more than an upgrade that is cut off tries again.
func TestHeldManyUpgradesAtOnce(t *testing.T) {
	testenv.Held(t)
	upgradeAtOnce(t, 30)
}

func upgradeAtOnce(t *testing.T, programs int) {
	t.Helper()
	dir := newDir(t)
	k := open(t, dir, nil)
	ended := procmgr.StartRequest{ID: "ended", Command: "echo out; exit 3", Wait: long}
	_, err := k.Start(t.Context(), ended)
	require.NoError(t, err)
	begin(t, k.Chat("long"), "long", "echo ready; i=0; while :; do echo line-$i; i=$((i+1)); sleep 0.001; done")
	var wg sync.WaitGroup
	for range programs {
		o := open(t, dir, nil)
		wg.Go(func() { assert.NoError(t, o.Upgrade(t.Context())) })
	}
	wg.Wait()
	again, err := k.Start(t.Context(), ended)
	require.NoError(t, err)
	require.True(t, again.Attached)
	require.Equal(t, 3, *again.Process.ExitCode)
	require.Equal(t, "out\n", again.Text)
	out, err := k.Chat("long").Output(t.Context(), "long", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
	require.NoError(t, k.Chat("long").Signal(t.Context(), "long", procmgr.Kill))
	requireNumbered(t, k.Chat("long"), "long")
}

// An upgrade needs no room on the disk.
func TestUpgradeOnAFullDisk(t *testing.T) {
	dir := newDir(t)
	require.NoError(t, os.Mkdir(dir, 0o700))
	testenv.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
	k := open(t, dir, nil)
	pid := keeperPID(t, k)
	begin(t, k, "x", "echo ready; sleep 0.3; echo later; exit 3")
	fill, err := os.Create(filepath.Join(dir, "fill"))
	require.NoError(t, err)
	for err == nil {
		_, err = fill.Write(make([]byte, 512))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, fill.Close())
	require.NoError(t, k.Upgrade(t.Context()))
	out, err := k.Output(t.Context(), "x", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, "ready\nlater\n", out.Text)
	require.Equal(t, 3, *out.Process.ExitCode)
	require.NoError(t, os.Remove(fill.Name()))
	require.NotEqual(t, pid, keeperPID(t, k))
	require.NoError(t, k.Stop(context.Background()))
	require.Eventually(t, func() bool { return len(keepersOf(dir)) == 0 }, long, time.Millisecond)
}

// A journal that is damaged does not keep a keeper from starting, and does not let
// an ID that it has lost run again at once.
func TestDamagedJournal(t *testing.T) {
	for name, damage := range map[string]func(text []byte) []byte{
		"garbage": func([]byte) []byte { return []byte("garbage\n\x00\xff\n") },
		"a byte":  func(text []byte) []byte { text[len(text)/2] ^= 0x10; return text },
		"torn":    func(text []byte) []byte { return append(text, "9999/S/99/a/torn 12"...) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			k := open(t, dir, nil)
			pid := keeperPID(t, k)
			_, err := k.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "exit 3", Wait: long})
			require.NoError(t, err)
			holder := parentOf(t, pid)
			require.NoError(t, syscall.Kill(holder, syscall.SIGKILL))
			kill(t, pid)
			path := filepath.Join(dir, "journal")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, damage(text), 0o600))
			k = open(t, dir, nil)
			out, err := k.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "exit 3"})
			switch {
			case err == nil:
				require.True(t, out.Attached)
			default:
				require.ErrorIs(t, err, procmgr.ErrUnknown)
			}
			_, err = k.List(t.Context(), procmgr.ListRequest{})
			require.NoError(t, err)
		})
	}
}

// A keeper that dies again and again as soon as it starts is not started for ever,
// and Open says so.
func TestKeeperNeverServes(t *testing.T) {
	dir := newDir(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "journal"), 0o700)) // it cannot be read
	_, err := prockeep.Open(t.Context(), dir, nil)
	require.ErrorContains(t, err, "the journal cannot be opened")
	require.Eventually(t, func() bool { return len(keepersOf(dir)) == 0 }, long, time.Millisecond)
}

// A holder whose keepers die in quick succession gives up. Whoever opens the directory
// then gets another holder and a keeper, which finds the processes.
func TestHolderGivesUp(t *testing.T) {
	dir := newDir(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), fewDeaths))
	k := open(t, dir, nil)
	victim := begin(t, k, "lives", "trap '' PIPE; echo ready; exec sleep 1000").Process.PID
	_, err := k.Start(t.Context(), procmgr.StartRequest{ID: "ended", Command: "exit 3", Wait: long})
	require.NoError(t, err)
	holder := parentOf(t, keeperPID(t, k))
	require.Eventually(t, func() bool {
		for _, pid := range childrenOf(t, holder, victim) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be dead already
		}
		return !alive(holder)
	}, long, time.Millisecond)
	log, err := os.ReadFile(filepath.Join(dir, "keeper.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "keepers die again and again, and no other one is started")
	require.True(t, alive(victim))

	k = open(t, dir, nil)
	require.NotEqual(t, holder, parentOf(t, keeperPID(t, k)))
	out, err := k.Output(t.Context(), "lives", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
	require.Equal(t, victim, out.Process.PID)
	out, err = k.Output(t.Context(), "ended", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, 3, *out.Process.ExitCode)
	require.NoError(t, k.Signal(t.Context(), "lives", procmgr.Kill))
	require.False(t, alive(victim))
}

// The cgroup of a process survives the death of its keeper: the next one ends with it
// what nothing else would find, and removes it.
func TestCgroupAfterADeath(t *testing.T) {
	testenv.Programs(t, "bash", "setsid")
	dir, group := newDir(t), testenv.Cgroup(t)
	k := open(t, dir, &prockeep.Options{Local: proclocal.Options{Cgroup: group}})
	pid := keeperPID(t, k)
	file := filepath.Join(t.TempDir(), "pid")
	// The member has another session, another environment, another mark and no pipe.
	begin(t, k, "x", "bash -c 'ulimit -x 4711; exec env -i setsid sh -c \"echo \\$\\$ > "+file+"; exec sleep 1000\" >/dev/null 2>&1 &'; "+
		"while [ ! -s "+file+" ]; do sleep 0.01; done; echo ready; exec sleep 1000")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	member, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.True(t, alive(member))
	groups := func() int {
		all, err := filepath.Glob(filepath.Join(group, "*", "cgroup.procs"))
		require.NoError(t, err)
		more, err := filepath.Glob(filepath.Join(group, "*", "*", "cgroup.procs"))
		require.NoError(t, err)
		return len(all) + len(more)
	}
	require.Positive(t, groups())

	kill(t, pid)
	out, err := k.Output(t.Context(), "x", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
	require.True(t, alive(member))
	require.Equal(t, "yes\n", run(t, k, "echo yes").Text, "others start in cgroups too")
	require.NoError(t, k.Signal(t.Context(), "x", procmgr.Kill))
	require.False(t, alive(member), "it is found by its cgroup alone")
	require.NotEqual(t, pid, keeperPID(t, k))
	require.NoError(t, k.Stop(context.Background()))
	require.Zero(t, groups(), "the directories of the dead keeper and of the next one are gone")
}

// A server of this user that is no keeper stays as it is, and so does what the journal
// knows.
func TestSocketOfAnotherServer(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	pid := keeperPID(t, k)
	victim := begin(t, k, "lives", "echo ready; exec sleep 1000").Process.PID
	kill(t, parentOf(t, pid))
	kill(t, pid)
	socket := filepath.Join(dir, "keeper")
	l, err := prochttp.ListenUnix(socket)
	require.NoError(t, err, "the socket is stale")
	t.Run("it answers", func(t *testing.T) {
		serve(t, l, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
		refused(t, dir, "the socket is that of a server which is no keeper")
		require.ErrorIs(t, k.Stop(t.Context()), procmgr.ErrInvalid)
	})
	t.Run("it says nothing", func(t *testing.T) {
		l, err := net.Listen("unix", socket)
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = prockeep.Open(ctx, dir, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	require.True(t, alive(victim))
	out, err := open(t, dir, nil).Output(t.Context(), "lives", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, victim, out.Process.PID)
}
