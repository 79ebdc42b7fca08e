package prockeep_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A container ends with its PID 1, and its keeper with it. The socket that stays
// is stale.
func TestContainer(t *testing.T) {
	testenv.Root(t)
	dir := newDir(t)
	cmd := program(t, "start", dir, "x", "echo ready; exec sleep 1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.FileExists(t, filepath.Join(dir, "keeper"))
	end, err := open(t, dir, nil).Chat("a").Output(t.Context(), "x", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, end.Process.State)
	require.Equal(t, procmgr.CauseLost, end.Process.EndedBy)
}

// The kernel says who listens at the other end. A server of another user is not
// spoken to, even if it has come into the directory.
func TestKeeperOfAnotherUser(t *testing.T) {
	testenv.Root(t)
	dir := newDir(t)
	require.NoError(t, os.Mkdir(dir, 0o700))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, "keeper")}))
	const keep, nobody = ^uintptr(0), 65534
	listened := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with its user
		if _, _, failed := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, nobody, keep); failed != 0 {
			listened <- failed
			return
		}
		listened <- unix.Listen(fd, 1)
	}()
	require.NoError(t, <-listened)
	file := os.NewFile(uintptr(fd), "keeper")
	l, err := net.FileListener(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	serve(t, l, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"protocol": 1})
	})
	refused(t, dir, "the keeper runs as user 65534")
}

// A keeper that is started by a command of another manager belongs to that
// command, as everything does that the command starts.
func TestUnderAnotherManager(t *testing.T) {
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	out, err := l.Start(t.Context(), procmgr.StartRequest{
		Command: self + " " + newDir(t), Env: map[string]string{envRole: "keeper's pid"}, Wait: long,
	})
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(out.Text))
	require.NoError(t, err)
	require.True(t, alive(pid))
	require.NoError(t, l.Close())
	require.False(t, alive(pid))
}

// A keeper that is stopped holds up a call no longer than its context says.
func TestStoppedKeeper(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	pid := keeperPID(t, k)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { require.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) }()
	require.Eventually(t, func() bool {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		return err == nil && strings.Contains(string(status), "State:\tT")
	}, long, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := prockeep.Open(ctx, dir, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = k.List(ctx, procmgr.ListRequest{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// On a disk without a free byte a keeper starts, and starts no command: it could
// not write that down. When there is room, it works. Without a free file, Open
// says why it fails, and leaves nothing behind.
func TestFullDisk(t *testing.T) {
	for name, test := range map[string]struct {
		size string
		full bool
	}{
		"no byte": {"size=4k", false},
		"no file": {"nr_inodes=1", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			require.NoError(t, os.Mkdir(dir, 0o700))
			testenv.Mount(t, "tmpfs", dir, "tmpfs", 0, test.size)
			k, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Idle: lifetime})
			if test.full {
				require.ErrorIs(t, err, syscall.ENOSPC)
				require.ErrorContains(t, err, "the directory cannot be locked")
				return
			}
			require.NoError(t, err)
			var out procmgr.Output
			for i := 0; err == nil && i < 100; i++ {
				out, err = k.Start(t.Context(), procmgr.StartRequest{ID: fmt.Sprint("x", i), Command: "echo yes", Wait: long})
			}
			require.ErrorContains(t, err, "nothing was started, because the keeper cannot write it down in its journal")
			require.Empty(t, out.Process.ID)
			require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=1m"))
			for range 50 {
				require.Equal(t, "yes\n", run(t, k, "echo yes").Text)
			}
			pid := keeperPID(t, k)
			require.NoError(t, k.Stop(t.Context()))
			require.Eventually(t, func() bool { return !alive(pid) }, long, time.Millisecond)
			require.Eventually(t, func() bool { return len(keepersOf(dir)) == 0 }, long, time.Millisecond)
		})
	}
}

// keepersOf returns the processes that have a file of a directory open.
func keepersOf(dir string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/fd/[0-9]*")
	for _, fd := range all {
		if path, err := os.Readlink(fd); err == nil && strings.HasPrefix(path, dir+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(filepath.Dir(fd))))
		}
	}
	return pids
}
