package prockeep_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// server is a command that leaves a line in a file each time it runs.
func server(effects string) string {
	return "echo run >> " + effects + "; echo ready; exec sleep 1000"
}

// runs returns how often such a command has run.
func runs(t *testing.T, effects string) int {
	t.Helper()
	text, err := os.ReadFile(effects)
	require.NoError(t, err)
	return strings.Count(string(text), "\n")
}

// remove runs a shell command on the directory of a keeper.
func remove(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", command)
	cmd.Env = append(os.Environ(), "dir="+dir, "parent="+filepath.Dir(dir))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// removals are what may become of a keeper's directory that can be made anew.
var removals = map[string]string{
	"the directory":                `rm -rf "$dir"`,
	"its parent":                   `rm -rf "$parent"`,
	"what is in it":                `rm -rf "$dir"/*`,
	"the socket":                   `rm "$dir"/keeper`,
	"the journal":                  `rm "$dir"/journal`,
	"it was moved":                 `mv "$dir" "$dir".old`,
	"a copy is in its place":       `cp -a "$dir" "$dir".new; mv "$dir" "$dir".old; mv "$dir".new "$dir"`,
	"an empty one is in its place": `rm -rf "$dir"; mkdir -m 755 "$dir"`,
	"a link is in its place":       `rm -rf "$dir"; mkdir "$dir".real; ln -s "$dir".real "$dir"`,
}

// If the directory of a keeper is removed, the next program that opens it finds the
// same keeper at once: nothing runs twice. The journal is there again too.
func TestDirectoryIsRemoved(t *testing.T) {
	for name, command := range removals {
		t.Run(name, func(t *testing.T) {
			dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
			k := open(t, dir, nil)
			keeper := keeperPID(t, k)
			web := begin(t, k, "web-1", server(effects)).Process.PID
			remove(t, dir, command)
			next := open(t, dir, nil)
			again, err := next.Start(t.Context(), procmgr.StartRequest{ID: "web-1", Command: server(effects), Background: true})
			require.NoError(t, err)
			require.True(t, again.Attached)
			require.Equal(t, web, again.Process.PID)
			require.Equal(t, keeper, keeperPID(t, next))
			info, err := os.Stat(dir)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

			kill(t, keeper)
			page, err := next.List(t.Context(), procmgr.ListRequest{})
			all := page.Processes
			require.NoError(t, err)
			require.Len(t, all, 3)
			out, err := next.Output(t.Context(), "web-1", procmgr.OutputRequest{})
			require.NoError(t, err)
			require.Equal(t, web, out.Process.PID)
			require.Equal(t, procmgr.Running, out.Process.State)
			require.NoError(t, next.Signal(t.Context(), "web-1", procmgr.Kill))
			require.Equal(t, 1, runs(t, effects))
		})
	}
}

// A handle of a keeper whose directory was removed goes on, and so does its Stop.
func TestHandleAfterARemoval(t *testing.T) {
	for name, command := range removals {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			k := open(t, dir, nil)
			web := begin(t, k, "web-1", "echo ready; exec sleep 1000").Process.PID
			remove(t, dir, command)
			require.Equal(t, "yes\n", run(t, k, "echo yes").Text)
			remove(t, dir, `rm -rf "$dir"`)
			require.NoError(t, k.Stop(t.Context()))
			require.False(t, alive(web))
		})
	}
}

// A keeper makes its directory anew though nobody asks for anything.
func TestDirectoryComesBack(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	begin(t, k, "web-1", "echo ready; exec sleep 1000")
	remove(t, dir, `rm -rf "$dir"`)
	for _, file := range []string{"keeper", "journal", "keeper.log"} {
		require.Eventually(t, func() bool {
			_, err := os.Lstat(filepath.Join(dir, file))
			return err == nil
		}, long, time.Millisecond, file)
	}
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "keeper.log"))
		return err == nil && strings.Contains(string(text), "the directory was changed, and was made anew")
	}, long, time.Millisecond)
}

// The keeper is killed just after its directory was removed: the holder has the
// journal.
func TestRemovedAndKilled(t *testing.T) {
	for name, command := range removals {
		t.Run(name, func(t *testing.T) {
			dir, effects := newDir(t), filepath.Join(t.TempDir(), "effects")
			k := open(t, dir, nil)
			keeper := keeperPID(t, k)
			web := begin(t, k, "web-1", server(effects)).Process.PID
			require.NoError(t, syscall.Kill(keeper, syscall.SIGSTOP))
			awaitState(t, keeper, "T") // it cannot look
			remove(t, dir, command)
			kill(t, keeper)
			next := open(t, dir, nil)
			again, err := next.Start(t.Context(), procmgr.StartRequest{ID: "web-1", Command: server(effects), Background: true})
			require.NoError(t, err)
			require.True(t, again.Attached)
			require.Equal(t, web, again.Process.PID)
			require.Equal(t, 1, runs(t, effects))
		})
	}
}

// A keeper that cannot have its directory any more ends as by Stop: nothing is left
// that nobody can find.
func TestDirectoryIsLost(t *testing.T) {
	for name, test := range map[string]struct {
		command string
		mount   string // the options of a file system over the parent; it takes root
		root    bool
	}{
		"a file is in its place":               {command: `rm -rf "$dir"; echo >"$dir"`},
		"a dead link is in its place":          {command: `rm -rf "$dir"; ln -s nothing "$dir"`},
		"a file is where the socket was":       {command: `rm "$dir"/keeper; echo >"$dir"/keeper`},
		"it is below a file":                   {command: `rm -rf "$parent"; echo >"$parent"`},
		"it belongs to another user":           {command: `rm -rf "$dir"; mkdir "$dir"; chown 65534 "$dir"`, root: true},
		"a link leads to that of another user": {command: `rm -rf "$dir"; mkdir "$dir".real; chown 65534 "$dir".real; ln -s "$dir".real "$dir"`, root: true},
		"its parent can only be read":          {command: `rm -rf "$dir"`, mount: "ro"},
		"its parent is full":                   {command: `rm -rf "$dir"`, mount: "nr_inodes=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a keeper tries for some seconds
			if test.root || test.mount != "" {
				testenv.Root(t)
			}
			dir := newDir(t)
			k, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Idle: lifetime})
			require.NoError(t, err)
			defer func() { _ = k.Close() }()
			keeper := keeperPID(t, k)
			web := begin(t, k, "web-1", "echo ready; exec sleep 1000").Process.PID
			if test.mount != "" {
				flags, data := uintptr(0), test.mount
				if data == "ro" {
					flags, data = syscall.MS_RDONLY, ""
				}
				testenv.Mount(t, "tmpfs", filepath.Dir(dir), "tmpfs", flags, data)
			}
			remove(t, dir, test.command)
			require.Eventually(t, func() bool { return !alive(web) }, long, time.Millisecond)
			require.Eventually(t, func() bool { return !alive(keeper) }, long, time.Millisecond)
		})
	}
}

// A directory is removed again and again while programs open it and start things.
// Every command has run at most once, there is one keeper in the end, and it knows
// everything that lives.
func TestHeldRemovedInALoop(t *testing.T) {
	testenv.Held(t)
	dir, effects := newDir(t), t.TempDir()
	first := open(t, dir, nil)
	keeper := keeperPID(t, first)
	end := make(chan struct{})
	var wg sync.WaitGroup
	removed, started, refused := 0, 0, 0
	wg.Go(func() {
		for ; ; removed++ {
			select {
			case <-end:
				return
			case <-time.After(time.Duration(removed%20) * 4 * time.Millisecond):
				_ = os.RemoveAll(dir) // a file may come while it is at it
			}
		}
	})
	for i := range testenv.Rounds(100, 1000) {
		id := fmt.Sprint("web-", i/2) // each twice
		k, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Idle: lifetime})
		if err == nil {
			_, err = k.Start(t.Context(), procmgr.StartRequest{ID: id, Command: server(filepath.Join(effects, id)), Background: true})
			require.NoError(t, k.Close())
		}
		if err != nil {
			refused++
		} else {
			started++
		}
	}
	close(end)
	wg.Wait()
	t.Logf("%d removals, %d starts, %d refused", removed, started, refused)
	require.Positive(t, started)
	k := open(t, dir, nil)
	require.Equal(t, keeper, keeperPID(t, k))
	files, err := os.ReadDir(effects)
	require.NoError(t, err)
	for _, f := range files {
		require.Equal(t, 1, runs(t, filepath.Join(effects, f.Name())), f.Name())
		out, err := k.Output(t.Context(), f.Name(), procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, procmgr.Running, out.Process.State)
	}
}

// A program in another network namespace cannot see that the keeper lives, and starts
// a second one in the directory that was made anew. The earlier one then ends what
// it has, and the second one stays.
func TestSecondKeeper(t *testing.T) {
	testenv.Root(t)
	dir := newDir(t)
	k, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Idle: lifetime})
	require.NoError(t, err)
	defer func() { _ = k.Close() }()
	keeper := keeperPID(t, k)
	web := begin(t, k, "web-1", "echo ready; exec sleep 1000").Process.PID
	require.NoError(t, syscall.Kill(keeper, syscall.SIGSTOP))
	awaitState(t, keeper, "T") // it does not come back before the second one is there
	remove(t, dir, `rm -rf "$dir"`)
	cmd := program(t, "start", dir, "web-1", "echo ready; exec sleep 1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, syscall.Kill(keeper, syscall.SIGCONT))
	require.Eventually(t, func() bool { return !alive(web) }, long, time.Millisecond)
	require.Eventually(t, func() bool { return !alive(keeper) }, long, time.Millisecond)
	second := open(t, dir, nil)
	page, err := second.Chat("a").List(t.Context(), procmgr.ListRequest{})
	all := page.Processes
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, procmgr.Running, all[0].State)
}

// Another user who has the name of a directory does no harm, and cannot speak to the
// keeper of another one.
func TestNameOfAnotherUser(t *testing.T) {
	testenv.Root(t)
	const keep, nobody = ^uintptr(0), 65534
	as := func(do func() error) error { // the thread ends with its user
		done := make(chan error, 1)
		go func() {
			runtime.LockOSThread()
			if _, _, failed := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, nobody, keep); failed != 0 {
				done <- failed
				return
			}
			done <- do()
		}()
		return <-done
	}
	t.Run("has it", func(t *testing.T) {
		dir := newDir(t)
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(fd)
		require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: prockeep.NameOf(dir)}))
		require.NoError(t, as(func() error { return unix.Listen(fd, 10) }))
		k := open(t, dir, nil)
		pid := keeperPID(t, k)
		remove(t, dir, `rm -rf "$dir"`)
		require.Eventually(t, func() bool { _, err := os.Lstat(filepath.Join(dir, "keeper")); return err == nil }, long, time.Millisecond)
		require.Equal(t, pid, keeperPID(t, open(t, dir, nil)))
	})
	t.Run("connects to it", func(t *testing.T) {
		dir := newDir(t)
		open(t, dir, nil)
		name := &unix.SockaddrUnix{Name: prockeep.NameOf(dir)}
		var n int
		require.NoError(t, as(func() error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if err := unix.Connect(fd, name); err != nil {
				return err
			}
			n, err = unix.Read(fd, make([]byte, 1))
			return err
		}))
		require.Zero(t, n)
		conn, err := net.Dial("unix", name.Name)
		require.NoError(t, err)
		defer conn.Close()
		n, err = conn.Read(make([]byte, 1))
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}
