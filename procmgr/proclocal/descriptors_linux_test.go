package proclocal_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// fewDescriptors lets this program open only a few more descriptors than it
// has.
func fewDescriptors(t *testing.T, more int) {
	t.Helper()
	n := uint64(countDescriptors() + more)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}))
}

// countDescriptors counts open files without opening one.
func countDescriptors() (n int) {
	for fd := range 1024 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			n++
		}
	}
	return n
}

// takeDescriptors opens files until there are no more, and returns them.
func takeDescriptors(t *testing.T) (fds []int) {
	t.Helper()
	for range 1024 {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			require.ErrorIs(t, err, unix.EMFILE)
			return fds
		}
		fds = append(fds, fd)
	}
	t.Fatal("there is no limit")
	return nil
}

func giveDescriptors(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// A start that finds too few descriptors is refused as a whole, at whatever
// step. Each start has a Local in which no process has exited, because the search
// that follows an exit opens descriptors at a time of its own.
func TestNoDescriptorForAStart(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	fewDescriptors(t, 40)
	refused := 0
	for free := range 12 {
		t.Run(fmt.Sprint(free, " free"), func(t *testing.T) {
			l := newLocal(t, nil)
			begin(t, l, "echo ready; exec sleep 1000")
			base, children := countDescriptors(), len(leftover.Children())
			req := procmgr.StartRequest{ID: "a", Command: "echo ran; exit 3", Wait: long}
			taken := takeDescriptors(t)
			giveDescriptors(taken[:free])
			out, err := l.Start(t.Context(), req)
			giveDescriptors(taken[free:])
			if err == nil {
				require.GreaterOrEqual(t, free, 3, "two for the pipe, and one that watches")
				require.Equal(t, "ran\n", out.Text)
				require.Equal(t, 3, *out.Process.ExitCode)
				return
			}
			refused++
			require.Equal(t, refused, free+1, "with less it did start")
			require.ErrorIs(t, err, procmgr.ErrLimit)
			require.ErrorContains(t, err, "no file descriptor is left")
			require.ErrorContains(t, err, "end some processes")
			require.Empty(t, out.Process.ID)
			require.Equal(t, base, countDescriptors(), "nothing is kept open")
			require.Len(t, leftover.Children(), children)
			_, err = l.Output(t.Context(), req.ID, procmgr.OutputRequest{})
			require.ErrorIs(t, err, procmgr.ErrNotFound)

			out, err = l.Start(t.Context(), req)
			require.NoError(t, err, "once there is room again")
			require.False(t, out.Attached)
			require.Equal(t, "ran\n", out.Text)
		})
	}
	require.Positive(t, refused)
	require.Less(t, refused, 12)
}

// A member that lives on does not count as gone because no descriptor is left
// to look for it.
func TestNoDescriptorToLook(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	for name, child := range map[string]string{
		"of the shell's group": "sleep 1000 >/dev/null 2>&1 & echo $!",
		"of another group":     "set -m; sleep 1000 >/dev/null 2>&1 & set +m; echo $!",
		"with the pipe":        "sleep 1000 & echo $!",
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Programs(t, "bash")
			l := newLocal(t, &proclocal.Options{Shell: []string{"bash", "-c"}})
			fifo := filepath.Join(t.TempDir(), "go")
			require.NoError(t, unix.Mkfifo(fifo, 0o600))
			out := begin(t, l, child+"; echo ready; read x <"+fifo+"; exit 3")
			id, pid := out.Process.ID, number.FindString(out.Text)
			t.Cleanup(func() {
				if alive(pid) {
					killPID(t, pid)
				}
			})
			to, err := unix.Open(fifo, unix.O_RDWR|unix.O_CLOEXEC, 0)
			require.NoError(t, err)
			defer unix.Close(to)
			fewDescriptors(t, 20)
			taken := takeDescriptors(t)
			_, err = unix.Write(to, []byte("go\n"))
			require.NoError(t, err)
			out, err = l.Output(t.Context(), id, procmgr.OutputRequest{Wait: long})
			giveDescriptors(taken)
			require.NoError(t, err)
			require.True(t, alive(pid))
			require.Equal(t, procmgr.Detached, out.Process.State)
			require.Equal(t, 3, *out.Process.ExitCode)

			killPID(t, pid)
			require.Equal(t, procmgr.Exited, ended(t, l, id).Process.State, "its end is seen as well")
		})
	}
}

// Kill needs no descriptor for the members in the shell's group. When it has
// one again, it reaches the rest.
func TestNoDescriptorToKill(t *testing.T) {
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	l := newLocal(t, nil)
	out := begin(t, l, "sleep 1000 >/dev/null 2>&1 & echo $!; echo ready; wait")
	pid := number.FindString(out.Text)
	child, err := unix.PidfdOpen(atoi(t, pid), 0)
	require.NoError(t, err)
	defer unix.Close(child)
	fewDescriptors(t, 20)
	taken := takeDescriptors(t)
	killed := make(chan error)
	go func() { killed <- l.Signal(t.Context(), out.Process.ID, procmgr.Kill) }() // waited for below
	eventually(t, "it dies", func() bool {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(child), Events: unix.POLLIN}}, 0)
		return n == 1
	})
	giveDescriptors(taken) // without one, a zombie cannot be told from a live process
	require.NoError(t, <-killed)
	require.False(t, alive(pid))
	require.Equal(t, procmgr.Exited, ended(t, l, out.Process.ID).Process.State)
}

// If the system allows the user no more processes, a start is refused. It works
// when others have ended.
func TestNoProcessLeft(t *testing.T) {
	if !inProgram(t) {
		testenv.Root(t)
		runProgram(t, program(t))
		return
	}
	// Go cannot run without a thread that it needs: keep some idle.
	var all, ready sync.WaitGroup
	for range 16 {
		ready.Add(1)
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			ready.Wait()
		})
	}
	all.Wait()
	// The limit is a user's, and root has none. No other process has this user ID.
	uid := 1<<20 + os.Getpid()
	require.NoError(t, syscall.Setgroups(nil))
	require.NoError(t, syscall.Setgid(uid))
	require.NoError(t, syscall.Setuid(uid))
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	most := uint64(len(threads) + 12)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: most, Max: most}))

	l := newLocal(t, &proclocal.Options{WorkDir: "/", StopGrace: -1})
	var ids []string
	for i := range 20 {
		out, err := l.Start(t.Context(), procmgr.StartRequest{ID: fmt.Sprint("n-", i), Command: "exec sleep 1000"})
		if err != nil {
			require.ErrorIs(t, err, procmgr.ErrLimit)
			require.ErrorContains(t, err, "no more processes")
			require.ErrorContains(t, err, "end some")
			require.Empty(t, out.Process.ID)
			break
		}
		ids = append(ids, out.Process.ID)
	}
	require.NotEmpty(t, ids)
	require.Less(t, len(ids), 20, "there was no limit")
	next := fmt.Sprint("n-", len(ids))
	_, err = l.Output(t.Context(), next, procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrNotFound)

	require.NoError(t, l.Signal(t.Context(), ids[0], procmgr.Kill))
	out := start(t, l, procmgr.StartRequest{ID: next, Command: "echo ran", Wait: long})
	require.Equal(t, "ran\n", strings.TrimPrefix(out.Text, " "))
	require.False(t, out.Attached)
}

// descriptors returns the descriptors of a process.
func descriptors(t *testing.T, pid int) (fds []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	require.NoError(t, err)
	for _, e := range entries {
		fds = append(fds, e.Name())
	}
	return fds
}

// A command has stdin, stdout and stderr, and none of the descriptors that the
// host has itself inherited or opened without close-on-exec.
func TestNoInheritedDescriptors(t *testing.T) {
	if !inProgram(t) {
		cmd := program(t)
		for range 10 {
			f, err := os.Open(os.DevNull)
			require.NoError(t, err)
			defer f.Close()
			cmd.ExtraFiles = append(cmd.ExtraFiles, f)
		}
		runProgram(t, cmd)
		return
	}
	// Two are beyond the number up to which all are closed.
	high := []int{63, 64, 200}
	for _, fd := range high {
		require.NoError(t, unix.Dup2(3, fd))
		defer unix.Close(fd)
	}
	own := newLocal(t, nil)
	wrapping := newLocal(t, &proclocal.Options{Sandbox: &box{wraps: true}, Shell: []string{"sh", "-c"}})
	for name, tt := range map[string]struct {
		l    *proclocal.Local
		req  procmgr.StartRequest
		want []string
	}{
		"empty stdin":             {own, procmgr.StartRequest{}, []string{"0", "1", "2"}},
		"pipe":                    {own, procmgr.StartRequest{Stdin: procmgr.StdinPipe}, []string{"0", "1", "2"}},
		"terminal":                {own, procmgr.StartRequest{Stdin: procmgr.StdinTerminal}, []string{"0", "1", "2"}},
		"wrapped":                 {wrapping, procmgr.StartRequest{}, []string{"0", "1", "2", "3"}}, // 3 is the stdin of the shell
		"wrapped with a terminal": {wrapping, procmgr.StartRequest{Stdin: procmgr.StdinTerminal}, []string{"0", "1", "2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.req.Command = "echo ready; exec sleep 1000"
			tt.req.Background = true
			out := start(t, tt.l, tt.req)
			out = ready(t, tt.l, out.Process.ID, "^ready")
			// The loader of sleep has its libraries open for a moment.
			require.Eventually(t, func() bool { return slices.Equal(tt.want, descriptors(t, out.Process.PID)) }, long, time.Millisecond,
				"%v", descriptors(t, out.Process.PID))
			require.NoError(t, tt.l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
		})
	}
	for _, fd := range append(high, 3, 4, 12) {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		require.NoError(t, err, "the host keeps its own")
		require.Zero(t, flags&unix.FD_CLOEXEC, "and another program that it starts inherits them")
	}
}

// The lock of "flock LOCK agent" is free when the agent has ended, although a command
// of it still runs, and a port of the host is none of a command's.
func TestHostKeepsLocksAndPorts(t *testing.T) {
	testenv.Programs(t, "flock")
	if inProgram(t) {
		l, err := proclocal.New(nil)
		require.NoError(t, err)
		out := start(t, l, procmgr.StartRequest{Command: "echo ready; exec sleep 1000", Background: true})
		out = output(t, l, out.Process.ID, procmgr.OutputRequest{Wait: long, Until: "^ready$", Ports: true})
		require.True(t, out.Matched)
		require.Empty(t, out.Listening)
		fmt.Println("pid", out.Process.PID)
		require.NoError(t, unix.Kill(os.Getpid(), unix.SIGKILL))
		select {}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	defer file.Close()
	lock := filepath.Join(t.TempDir(), "lock")
	cmd := program(t, "flock", "-n", lock)
	cmd.ExtraFiles = []*os.File{file}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	_, pid, found := strings.Cut(string(out), "pid ")
	require.True(t, found, "%s", out)
	pid = strings.TrimSpace(pid)
	require.True(t, alive(pid))
	t.Cleanup(func() {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		require.NoError(t, unix.Kill(n, unix.SIGKILL))
	})
	f, err := os.Open(lock)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), "the command holds the lock of its host")
}
