package prockeep_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// keepers returns the keepers of a directory that live, by its socket names.
func keepers(t testing.TB, dir string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	require.NoError(t, err)
	for _, file := range all {
		name, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		fds, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "fd", "*"))
		for _, fd := range fds {
			if link, _ := os.Readlink(fd); strings.TrimSpace(string(name)) == "toolproc-keeper" && strings.TrimSuffix(link, " (deleted)") == filepath.Join(dir, "ids") {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// A keeper is killed. What it ran is ended, also what has left its session, and told as
// lost; what had ended is known; nothing runs again.
func TestKeeperIsKilled(t *testing.T) {
	dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
	h := open(t, dir, nil)
	m := h.Chat("a")
	web := begin(t, m, "web", server(effects)).Process.PID
	stray := begin(t, m, "stray", "setsid env -i sleep 1000 & echo $!; exec sleep 1000")
	strayPID, err := strconv.Atoi(strings.TrimSpace(stray.Text))
	require.NoError(t, err)
	stubborn := begin(t, m, "stubborn", "trap '' TERM; echo ready; while :; do sleep 1; done").Process.PID
	start(t, m, procmgr.StartRequest{ID: "ended", Command: "exit 6", Wait: long})
	cursor := events(t, m, procmgr.EventsRequest{Limit: -1})

	kill(t, keeperPID(t, h))
	page := events(t, m, procmgr.EventsRequest{After: cursor.Next, Wait: long})
	for _, pid := range []int{web, strayPID, stubborn} {
		require.False(t, alive(pid), pid)
	}
	var lost []string
	for _, e := range page.Events {
		require.Equal(t, procmgr.EventExited, e.Kind)
		require.Equal(t, procmgr.CauseLost, e.Process.EndedBy)
		lost = append(lost, e.Process.ID)
	}
	require.Equal(t, []string{"web", "stray", "stubborn"}, lost)
	for after, i := cursor.Next, 0; i < 3; i++ { // one at a time
		one := events(t, m, procmgr.EventsRequest{After: after, Limit: 1})
		require.Len(t, one.Events, 1)
		require.Equal(t, lost[i], one.Events[0].Process.ID)
		after = one.Next
	}
	out := start(t, m, procmgr.StartRequest{ID: "web", Command: server(effects)})
	require.True(t, out.Attached)
	require.Equal(t, procmgr.CauseLost, out.Process.EndedBy)
	require.Nil(t, out.Process.ExitCode)
	require.Len(t, lines(t, effects), 1)
	out = output(t, m, "ended", procmgr.OutputRequest{})
	require.Equal(t, 6, *out.Process.ExitCode)
	for _, env := range []map[string]string{nil, {}, {"TRACEPARENT": "another caller"}} {
		out, err = m.Start(t.Context(), procmgr.StartRequest{ID: "ended", Command: "exit 6", Env: env})
		require.NoError(t, err, "%v", env)
		require.True(t, out.Attached)
	}
	_, err = m.Start(t.Context(), procmgr.StartRequest{ID: "ended", Command: "exit 7"})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	list, err := m.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Len(t, list.Processes, 3)
	require.Zero(t, list.Live)
	require.Equal(t, "7\n", run(t, m, "echo 7").Text)

	// A file that is written anew tells of nothing again.
	require.NoError(t, os.RemoveAll(dir))
	run(t, m, "true")
	page = events(t, m, procmgr.EventsRequest{After: page.Next})
	for _, e := range page.Events {
		require.NotEqual(t, procmgr.CauseLost, e.Process.EndedBy)
	}
}

// Four of five keepers are killed. Another one ends what they ran, and no program has to ask.
func TestKeepersAreKilledUnseen(t *testing.T) {
	dir := newDir(t)
	var all, served []int
	for range 5 {
		h := open(t, dir, &prockeep.Options{Replace: true})
		all = append(all, keeperPID(t, h))
		served = append(served, begin(t, h, procmgr.NewID(), "echo ready; exec sleep 1000").Process.PID)
	}
	for i := range 2 {
		kill(t, all[i])
		require.Eventually(t, func() bool { return !alive(served[i]) }, long, 10*time.Millisecond)
	}
	require.True(t, alive(served[2]))
	for _, pid := range all[2:4] { // at once
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	require.Eventually(t, func() bool { return !alive(served[2]) && !alive(served[3]) }, long, 10*time.Millisecond)
	require.True(t, alive(served[4]))
}

// Keepers are killed at random moments while two programs start commands and wait: no
// command runs twice, survivors are ended, and each ID is told with its exit code or as
// lost.
func TestHeldKeeperIsKilled(t *testing.T) {
	testenv.Held(t)
	killKeepers(t, testenv.Rounds(30, 100))
}

// TestKeepersAreKilled is a short TestHeldKeeperIsKilled.
func TestKeepersAreKilled(t *testing.T) { killKeepers(t, 5) }

// killedEarly reports whether an error says that a keeper was killed before it served.
func killedEarly(err error) bool {
	return err != nil && strings.Contains(err.Error(), "was started as a keeper, and ended before it served")
}

func killKeepers(t *testing.T, kills int) {
	dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var ended, lost, unknown atomic.Int64
	for w := range 2 {
		h := open(t, dir, nil)
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("k%d-%d", w, i)
				command := fmt.Sprintf("echo %s >> %s; sleep 0.0%d; exit %d", id, effects, i%10, i%100)
				if i%10 == 0 {
					command = fmt.Sprintf("echo %s >> %s; echo $$ >> %[2]s.servers; exec sleep 1000", id, effects)
				}
				m := h.Chat("a")
				out, err := m.Start(t.Context(), procmgr.StartRequest{ID: id, Command: command, Background: true})
				for err != nil {
					if !killedEarly(err) && !assert.ErrorIs(t, err, procmgr.ErrUnknown, id) {
						return
					}
					unknown.Add(1)
					out, err = m.Start(t.Context(), procmgr.StartRequest{ID: id, Command: command, Background: true})
				}
				if i%10 == 0 {
					continue
				}
				for out.Process.State != procmgr.Exited {
					if out, err = m.Output(t.Context(), id, procmgr.OutputRequest{Wait: long}); !assert.NoError(t, err, id) {
						return
					}
				}
				if out.Process.EndedBy == procmgr.CauseLost {
					lost.Add(1)
					assert.Nil(t, out.Process.ExitCode)
				} else if assert.NotNil(t, out.Process.ExitCode, "%+v", out.Process) {
					ended.Add(1)
					assert.Equal(t, i%100, *out.Process.ExitCode)
				}
			}
		})
	}
	for n := 0; n < kills && !t.Failed(); {
		time.Sleep(rand.N(200 * time.Millisecond))
		for _, pid := range keepers(t, dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			n++
		}
	}
	// On a busy machine every command so far may have been lost with its keeper.
	assert.Eventually(t, func() bool { return ended.Load() > 0 }, long, 10*time.Millisecond)
	stop()
	wg.Wait()
	t.Logf("%d ended, %d were lost, %d answers were unknown", ended.Load(), lost.Load(), unknown.Load())
	lines(t, effects)
	h := open(t, dir, nil)
	for _, pid := range keepers(t, dir) {
		kill(t, pid)
	}
	page, err := h.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Zero(t, page.Live)
	for _, p := range page.Processes {
		require.Equal(t, procmgr.CauseLost, p.EndedBy)
	}
	servers, err := os.ReadFile(effects + ".servers")
	require.NoError(t, err)
	for field := range strings.FieldsSeq(string(servers)) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		require.False(t, alive(pid), pid)
	}
}

// Two keepers are asked for the same IDs at once, while one takes over from the other,
// and they are stopped, continued and killed: no ID runs twice.
func TestHeldTwoKeepers(t *testing.T) {
	testenv.Held(t)
	dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
	ids := testenv.Rounds(1000, 10000)
	first := open(t, dir, nil)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(rand.N(300 * time.Millisecond)):
			}
			all := keepers(t, dir)
			if len(all) == 0 {
				continue
			}
			switch pid := all[rand.IntN(len(all))]; rand.IntN(4) {
			case 0:
				_ = syscall.Kill(pid, syscall.SIGKILL)
			default:
				_ = syscall.Kill(pid, syscall.SIGSTOP)
				time.Sleep(rand.N(100 * time.Millisecond))
				if h, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Idle: lifetime, Replace: true}); assert.NoError(t, err) {
					assert.NoError(t, h.Close())
				}
				_ = syscall.Kill(pid, syscall.SIGCONT)
			}
		}
	})
	second := open(t, dir, nil)
	var starters sync.WaitGroup
	var ran, refused atomic.Int64
	for w := range 8 {
		h := first
		if w%2 == 1 {
			h = second
		}
		starters.Go(func() {
			for i := w / 4; i < ids; i += 2 { // each ID is asked for four times
				id := fmt.Sprint("id-", i)
				out, err := h.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "echo " + id + " >> " + effects, Wait: long})
				switch {
				case err == nil && !out.Attached:
					ran.Add(1)
				case errors.Is(err, context.DeadlineExceeded), errors.Is(err, procmgr.ErrClosed), killedEarly(err): // or the next keeper was stopped for too long
					refused.Add(1)
				case err != nil && !errors.Is(err, procmgr.ErrUnknown):
					assert.NoError(t, err)
					refused.Add(1)
				}
			}
		})
	}
	starters.Wait()
	close(done)
	wg.Wait()
	seen := lines(t, effects)
	t.Logf("%d of %d ran, %d starts were told to have run, %d were refused", len(seen), ids, ran.Load(), refused.Load())
	require.Greater(t, len(seen), ids*9/10)
}

// While a keeper is stopped, what it runs is running as far as anybody knows, and others
// answer.
func TestKeeperHangs(t *testing.T) {
	dir := newDir(t)
	old := open(t, dir, nil)
	begin(t, old.Chat("a"), "web", "echo ready; exec sleep 1000")
	pid := keeperPID(t, old)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	h := open(t, dir, &prockeep.Options{Replace: true})
	require.Equal(t, "yes\n", run(t, h.Chat("a"), "echo yes").Text)
	page, err := h.Chat("a").List(t.Context(), procmgr.ListRequest{})
	var partial *procmgr.PartialError
	require.ErrorAs(t, err, &partial)
	require.ErrorContains(t, err, fmt.Sprint("process ", pid))
	require.Equal(t, 1, page.Live)
	require.Equal(t, "web", page.Processes[0].ID)
	out, err := h.Chat("a").Output(t.Context(), "web", procmgr.OutputRequest{})
	require.Error(t, err)
	require.NotErrorIs(t, err, procmgr.ErrNotFound)
	require.Equal(t, procmgr.Running, out.Process.State)
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	output(t, h.Chat("a"), "web", procmgr.OutputRequest{})
}

// The directory is removed while programs open it and start things. Every command has
// run once at most, and the keeper is still the same.
func TestDirectoryIsRemoved(t *testing.T) {
	dir, effects := newDir(t), t.TempDir()
	first := open(t, dir, nil)
	keeper := keeperPID(t, first)
	for i := range 30 {
		id := fmt.Sprint("web-", i/2)
		h, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Idle: lifetime})
		require.NoError(t, err)
		switch i % 3 {
		case 0:
			require.NoError(t, os.RemoveAll(dir))
		case 1:
			require.NoError(t, os.Rename(dir, fmt.Sprint(dir, i)))
		}
		out := start(t, h, procmgr.StartRequest{ID: id, Command: server(filepath.Join(effects, id)), Background: true})
		require.Equal(t, i%2 == 1, out.Attached)
		require.NoError(t, h.Close())
	}
	h := open(t, dir, nil)
	require.Equal(t, keeper, keeperPID(t, h))
	page, err := h.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Equal(t, 15, page.Live)
	require.NoError(t, os.RemoveAll(dir))
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ids")); return err == nil }, long, time.Millisecond)
	files, err := os.ReadDir(effects)
	require.NoError(t, err)
	for _, f := range files {
		require.Len(t, lines(t, filepath.Join(effects, f.Name())), 1)
	}
}

// The directory is removed just when the keeper is killed: a program that has it open
// still knows what has run.
func TestKeeperAndDirectoryAreGone(t *testing.T) {
	dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
	h := open(t, dir, nil)
	web := begin(t, h, "web", server(effects)).Process.PID
	pid := keeperPID(t, h)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	require.NoError(t, os.RemoveAll(dir))
	kill(t, pid)
	out := start(t, h, procmgr.StartRequest{ID: "web", Command: server(effects)})
	require.True(t, out.Attached)
	require.Equal(t, procmgr.CauseLost, out.Process.EndedBy)
	require.False(t, alive(web))
	require.Equal(t, "yes\n", run(t, h, "echo yes").Text)
	require.Len(t, lines(t, effects), 1)
}

// On a full disk nothing starts, and the error says why. What runs goes on.
func TestFullDisk(t *testing.T) {
	testenv.Root(t)
	dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	testenv.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
	h := open(t, dir, nil)
	web := begin(t, h, "web", "echo ready; exec sleep 1000")
	fill := filepath.Join(dir, "fill")
	require.Error(t, os.WriteFile(fill, make([]byte, 1<<20), 0o600))
	var err error
	for i := 0; err == nil && i < 100; i++ { // the file has some room on its last page
		_, err = h.Start(t.Context(), procmgr.StartRequest{ID: fmt.Sprint("x", i), Command: "echo x" + strconv.Itoa(i) + " >> " + effects, Wait: long})
	}
	require.ErrorContains(t, err, "no space left on device")
	before := len(lines(t, effects))
	_, err = h.Start(t.Context(), procmgr.StartRequest{ID: "y", Command: "echo y >> " + effects, Wait: long})
	require.ErrorContains(t, err, "no space left on device")
	require.NoError(t, h.Signal(t.Context(), "web", procmgr.Kill))
	require.False(t, alive(web.Process.PID))
	require.NoError(t, os.Remove(fill))
	start(t, h, procmgr.StartRequest{ID: "y", Command: "echo y >> " + effects, Wait: long})
	require.Len(t, lines(t, effects), before+1)
}

// Orphans of a keeper's processes come to it, and none stays a zombie.
func TestOrphans(t *testing.T) {
	h := open(t, newDir(t), nil)
	keeper := keeperPID(t, h)
	out := begin(t, h, "web", "(sleep 1 & echo $!); exec sleep 1000")
	pid, err := strconv.Atoi(strings.TrimSpace(out.Text))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return parentOf(t, pid) == keeper }, long, time.Millisecond)
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, long, 10*time.Millisecond)
}

// asNobody lets a command run as a user without any rights, who could enter the directory
// of a keeper if its mode allowed that.
func asNobody(t testing.TB, cmd *exec.Cmd, dir string) *exec.Cmd {
	t.Helper()
	testenv.Root(t)
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o777))     //nolint:gosec // as above
	cmd.Path, cmd.Dir, cmd.Stderr = "/proc/self/exe", "/", nil // others cannot enter the directory of a test binary
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

// A program of another user is refused, whether it comes by the directory or by the
// keeper's name, and finds no keeper of anybody else.
func TestAnotherUser(t *testing.T) {
	dir := newDir(t)
	open(t, dir, nil)
	out, err := asNobody(t, program(t, "print", dir, "x", "true"), dir).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), dir+" belongs to another user")

	sockets, err := filepath.Glob(filepath.Join(dir, "k-*"))
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	_, token, _ := strings.Cut(filepath.Base(sockets[0]), "-")
	all, err := os.ReadFile("/proc/net/unix")
	require.NoError(t, err)
	_, name, found := strings.Cut(string(all), "@toolproc-keeper-")
	for ; found && !strings.Contains(strings.SplitN(name, "\n", 2)[0], token); _, name, found = strings.Cut(name, "@toolproc-keeper-") {
	}
	require.True(t, found)
	name, _, _ = strings.Cut("@toolproc-keeper-"+name, "\n")
	out, err = program(t, "knock", name).Output()
	require.NoError(t, err)
	require.Equal(t, "200\n", string(out))
	out, err = asNobody(t, program(t, "knock", name), dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "403\n", string(out))

	theirs := newDir(t)
	cmd := asNobody(t, program(t, "print", theirs, "x", "echo ran"), theirs)
	cmd.Env = append(cmd.Env, "PROCKEEP_TEST_STOP=1")
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "ran\n", string(out))
	_, err = prockeep.Open(t.Context(), theirs, nil)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "belongs to another user")
	_, err = prockeep.Find(t.Context(), theirs)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}

// The opener is the init of a container, and so gets the orphans of its dead keeper: they
// are ended all the same.
func TestOpenerIsInit(t *testing.T) {
	testenv.Root(t)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "unshare", "--pid", "--fork", "--mount-proc", "--kill-child", self, "-test.v", "-test.run", "^TestKeeperIsKilled$")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestKeeperIsKilled")
}

// A setuid program takes no order from the user who runs it.
func TestSetuid(t *testing.T) {
	testenv.Root(t)
	dir := newDir(t)
	file := filepath.Join(filepath.Dir(dir), "program")
	own, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, own, 0o700))
	require.NoError(t, os.Chmod(file, 0o755|os.ModeSetuid)) //nolint:gosec // others run it
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))  //nolint:gosec // as above
	cmd := exec.CommandContext(t.Context(), file, "no address")
	cmd.Env = []string{"TOOLPROC_KEEPER=keep", envRole + "=knock"}
	cmd.Stdin = strings.NewReader(`{"Dir":"` + dir + `","Idle":1}`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "no address", "it went on as an ordinary program")
	require.NoDirExists(t, dir)
}
