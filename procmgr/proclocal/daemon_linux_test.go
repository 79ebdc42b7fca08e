package proclocal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// services are daemons that leave their session, their parent or their environment.
// CHILD is a command that lives until it is killed, DIR a directory in which a file
// named begun tells that the daemon runs.
var services = []struct {
	name, script, needs string
	escapes             bool // from late marks, without a word: see docs/processes.md
}{
	{name: "double fork", script: "(sh -c 'CHILD & exit' &)"},
	{name: "nohup", script: "nohup CHILD &"},
	{name: "setsid", script: "setsid CHILD &", needs: "setsid"},
	{name: "env -i", script: "env -i setsid CHILD &", needs: "setsid"},
	{name: "double fork without an environment", script: "env -i setsid -f sh -c 'cd /; CHILD & exit'", needs: "setsid"},
	{name: "ssh-agent", script: "ssh-agent -a DIR/agent; >DIR/begun", needs: "ssh-agent"},
	{name: "gpg-agent", script: "chmod 700 DIR; gpg-agent --homedir DIR --daemon; >DIR/begun", needs: "gpg-agent"},
	{name: "main thread ended", script: "env -i setsid python3 -c '" + lastThread + "' DIR &", needs: "setsid python3"},
	{name: "another user", script: "setsid setpriv --reuid 65534 --clear-groups env -i CHILD &", needs: "root setsid setpriv"},
	{name: "su", script: "su nobody -s /bin/sh -c 'setsid -f CHILD'", needs: "root setsid su"},
	{name: "su -", script: "su - nobody -s /bin/sh -c 'setsid -f CHILD'", needs: "root setsid su"},
	{name: "sudo", script: "sudo -u nobody setsid -f CHILD", needs: "root setsid sudo"},
	{name: "a namespace of its own", script: "setsid bwrap --unshare-all --clearenv --bind / / CHILD &", needs: "bwrap setsid"},
	{name: "its own limit", script: "prlimit --locks=0:0 env -i setsid CHILD &", needs: "setsid prlimit", escapes: true},
}

// lastThread is a program whose main thread ends before the other one.
const lastThread = `
import ctypes, sys, threading, time
def live():
    while ") Z" not in open("/proc/self/stat").read(): time.sleep(0.001)
    open(sys.argv[1] + "/begun", "w")
    time.sleep(1000)
threading.Thread(target=live).start()
ctypes.CDLL(None).pthread_exit(None)`

// A process is detached as long as a daemon of its command lives. Kill ends the
// daemon, and so does Close. All of that holds in each way to find daemons which
// docs/processes.md names.
func TestHeldDaemonsAreEnded(t *testing.T) {
	testenv.Held(t)
	ways, ends := []string{"slices", "a cgroup"}, []string{"Kill", "Close"}
	late := inProgram(t)
	if late {
		forbid(t, unix.SYS_SCHED_SETATTR)
		ways, ends = []string{"late marks"}, ends[:1]
	}
	for _, way := range ways {
		for _, by := range ends {
			for _, tt := range services {
				t.Run(fmt.Sprint(way, "/", by, "/", tt.name), func(t *testing.T) {
					for _, need := range strings.Fields(tt.needs) {
						if need == "root" {
							testenv.Root(t)
						} else {
							testenv.Programs(t, need)
						}
					}
					opts := &proclocal.Options{}
					if way == "a cgroup" {
						opts.Cgroup = testenv.Cgroup(t)
					}
					found, unsure := endsDaemon(t, opts, tt.script, by)
					// On a busy machine a daemon may leave its parent before a late mark is set.
					for try := 1; try < 20 && late && !tt.escapes && !found; try++ {
						require.True(t, unsure, "its end was told without a word")
						found, unsure = endsDaemon(t, opts, tt.script, by)
					}
					require.Equal(t, !late || !tt.escapes, found)
				})
			}
		}
	}
	if !late {
		t.Run("late marks", func(sub *testing.T) { runProgramOf(sub, t, program(t)) })
	}
}

// endsDaemon runs a script that leaves a daemon behind, and ends it if the process is told
// to be detached. unsure is what the process says otherwise.
func endsDaemon(t *testing.T, opts *proclocal.Options, script, by string) (found, unsure bool) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tp") //nolint:usetesting // a socket's path is short, and others may enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	t.Cleanup(func() { killMarked(dir) })
	require.NoError(t, os.Chmod(dir, 0o777)) // whatever the umask, as the next one
	child := filepath.Join(dir, "child")
	require.NoError(t, os.WriteFile(child, []byte(">"+dir+"/begun; exec tail -f "+child), 0o600))
	require.NoError(t, os.Chmod(child, 0o644))
	script = strings.NewReplacer("CHILD", "sh "+child, "DIR", dir).Replace("exec >/dev/null 2>&1\n" + script)

	l, err := proclocal.New(opts)
	require.NoError(t, err)
	closed := sync.OnceValue(l.Close)
	t.Cleanup(func() { _ = closed() }) // if the test has failed before
	out := start(t, l, procmgr.StartRequest{Command: script + "\nuntil [ -e " + dir + "/begun ]; do sleep 0.01; done; exit 3", Wait: long})
	require.Equal(t, 3, *out.Process.ExitCode)
	if out.Process.State == procmgr.Exited {
		require.NotEmpty(t, marked(dir), "it has ended by itself")
		return false, out.Process.MayLiveOn
	}
	if by == "Kill" {
		err := l.Signal(t.Context(), out.Process.ID, procmgr.Kill)
		out = ended(t, l, out.Process.ID)
		require.Equal(t, 3, *out.Process.ExitCode)
		require.Equal(t, out.Process.MayLiveOn, err != nil, "%v", err)
	}
	err = closed()
	unsure = output(t, l, out.Process.ID, procmgr.OutputRequest{}).Process.MayLiveOn
	require.Equal(t, unsure, err != nil, "%v", err)
	require.Empty(t, marked(dir))
	return true, unsure
}

// On a kernel without scheduler slices a daemon may escape before it is marked. It is
// never silent: it is found, or the state says that it may live on, and so do Kill and
// Close.
func TestDaemonsWithoutSlices(t *testing.T) {
	testenv.Programs(t, "setsid")
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	forbid(t, unix.SYS_SCHED_SETATTR)
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	marker := fmt.Sprint("1000.", os.Getpid())
	defer killMarked(marker)
	for i := range 20 {
		daemon := fmt.Sprintf("%s%03d", marker, i)
		out := start(t, l, procmgr.StartRequest{Command: "env -i setsid sleep " + daemon + " >/dev/null 2>&1 &", Wait: long})
		if out.Process.State == procmgr.Exited && !out.Process.MayLiveOn {
			require.Empty(t, marked(daemon), "%+v %s", out.Process, out.Text)
		}
		if out.Process.MayLiveOn {
			require.ErrorContains(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill), "something of it may live on")
		}
	}
	err = l.Close()
	if left := marked(marker); len(left) > 0 {
		require.ErrorContains(t, err, "may have escaped")
	}
}

// Without slices, a command that starts many children at once has all of them marked,
// although it may have started some before it was marked itself.
func TestHeldLateMark(t *testing.T) {
	testenv.Held(t)
	testenv.Programs(t, "setsid")
	if !inProgram(t) {
		runProgram(t, program(t))
		return
	}
	forbid(t, unix.SYS_SCHED_SETATTR)
	l, err := proclocal.New(&proclocal.Options{Shell: []string{"sh", "-c"}})
	require.NoError(t, err)
	times, missed := testenv.Rounds(40, 200), 0
	for range times {
		out := begin(t, l, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do env -i setsid sleep 1000 >/dev/null 2>&1 & echo $!; done; echo ready; wait")
		children := number.FindAllString(out.Text, -1)
		require.Len(t, children, 20)
		_ = l.Signal(t.Context(), out.Process.ID, procmgr.Kill) // it says that something may live on
		ended(t, l, out.Process.ID)
		for _, child := range children {
			if alive(child) {
				missed++
				killPID(t, child)
			}
		}
	}
	_ = l.Close() // as Kill
	require.LessOrEqual(t, missed, times/10, "of 20 children each time; a few may get away on a busy machine")
}

// forbid makes a system call fail in this program as on a kernel that does not have it.
func forbid(t *testing.T, call uint32) {
	t.Helper()
	const allow, fail = 0x7fff0000, 0x00050000 // SECCOMP_RET_ALLOW and SECCOMP_RET_ERRNO
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: fail | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: allow},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Getuid() != 0 { // root need not give up sudo for it
		require.NoError(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, 1, 1, uintptr(unsafe.Pointer(&program))) // SECCOMP_SET_MODE_FILTER, for all threads
	require.Zero(t, errno)
}
