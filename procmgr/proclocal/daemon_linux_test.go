package proclocal_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// services are daemons that leave their session, their parent or their
// environment. CHILD is a command that lives until it is killed, DIR a directory.
var services = []struct{ name, script, needs string }{
	{name: "double fork", script: "(sh -c 'CHILD & exit' &)"},
	{name: "nohup", script: "nohup CHILD &"},
	{name: "setsid", script: "setsid CHILD &", needs: "setsid"},
	{name: "env -i", script: "env -i setsid CHILD &", needs: "setsid"},
	{name: "double fork without an environment", script: "env -i setsid -f sh -c 'cd /; CHILD & exit'", needs: "setsid"},
	{name: "ssh-agent", script: "ssh-agent -a DIR/agent >DIR/env; . DIR/env; echo $SSH_AGENT_PID >DIR/pid", needs: "ssh-agent"},
	{name: "another user", script: "setsid setpriv --reuid 65534 --clear-groups env -i CHILD &", needs: "root setsid setpriv"},
	{name: "su -", script: "su - nobody -s /bin/sh -c 'setsid -f CHILD'", needs: "root setsid su"},
	{name: "a namespace of its own", script: "setsid bwrap --unshare-all --clearenv --bind / / CHILD &", needs: "bwrap setsid"},
}

// A process is detached as long as a daemon of its command lives. Kill ends the
// daemon, and so does Close.
func TestHeldDaemonsAreEnded(t *testing.T) {
	testenv.Held(t)
	for _, evidence := range []string{"marks", "a cgroup"} {
		for _, by := range []string{"Kill", "Close"} {
			for _, tt := range services {
				t.Run(fmt.Sprint(evidence, "/", by, "/", tt.name), func(t *testing.T) {
					for _, need := range strings.Fields(tt.needs) {
						if need == "root" {
							testenv.Root(t)
						} else {
							testenv.Programs(t, need)
						}
					}
					opts := &proclocal.Options{}
					if evidence == "a cgroup" {
						opts.Cgroup = testenv.Cgroup(t)
					}
					dir, err := os.MkdirTemp("/tmp", "tp") //nolint:usetesting // a socket's path is short, and others may enter
					require.NoError(t, err)
					t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
					require.NoError(t, os.Chmod(dir, 0o777))
					child := filepath.Join(dir, "child")
					require.NoError(t, os.WriteFile(child, []byte("#!/bin/sh\necho $$ >DIR/pid\nexec sleep 1000\n"), 0o600))
					script := strings.NewReplacer("CHILD", "sh "+child, "DIR", dir).Replace("exec >/dev/null 2>&1\n" + tt.script)
					text, err := os.ReadFile(child)
					require.NoError(t, err)
					require.NoError(t, os.WriteFile(child, bytes.ReplaceAll(text, []byte("DIR"), []byte(dir)), 0o600))
					require.NoError(t, os.Chmod(child, 0o755))

					l, err := proclocal.New(opts)
					require.NoError(t, err)
					closed := false
					t.Cleanup(func() {
						if !closed {
							require.NoError(t, l.Close())
						}
					})
					out := start(t, l, procmgr.StartRequest{
						Command: script + "\nwhile [ ! -s " + dir + "/pid ]; do sleep 0.01; done; exit 3",
						Wait:    long,
					})
					require.Equal(t, 3, *out.Process.ExitCode)
					require.Equal(t, procmgr.Detached, out.Process.State)
					pid, err := os.ReadFile(filepath.Join(dir, "pid"))
					require.NoError(t, err)
					daemon := strings.TrimSpace(string(pid))
					if tt.needs == "bwrap setsid" {
						daemon = "" // the number is one of its namespace
					}
					if by == "Kill" {
						require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
						require.Equal(t, 3, *ended(t, l, out.Process.ID).Process.ExitCode)
					} else {
						require.NoError(t, l.Close())
						closed = true
					}
					if daemon != "" {
						eventually(t, "it has gone", func() bool { return !alive(daemon) })
					}
				})
			}
		}
	}
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
	require.NoError(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, 1, 1, uintptr(unsafe.Pointer(&program))) // SECCOMP_SET_MODE_FILTER, for all threads
	require.Zero(t, errno)
}
