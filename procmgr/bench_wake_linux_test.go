package procmgr_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
)

// The time from a child's last instruction to the return of the caller that
// waits for it, beside the least that a program can do: a thread that blocks in
// wait4. Meanwhile this program sleeps, as one that waits for a command does.
func BenchmarkWakeUp(b *testing.B) {
	l := newLocal(b, nil)
	report := filepath.Join(b.TempDir(), "report")
	child := role(b, "last", 0, report)
	// sinceLast returns how long ago the child has reported its last instruction.
	sinceLast := func() time.Duration {
		returned := monotonic()
		text, err := os.ReadFile(report)
		require.NoError(b, err)
		return time.Duration(returned - int64(binary.NativeEndian.Uint64(text)))
	}
	prepare := func() { require.NoError(b, os.WriteFile(report, make([]byte, 8), 0o600)) }
	beside.Times(b, func() time.Duration {
		prepare()
		out, err := l.Start(context.Background(), procmgr.StartRequest{Command: roleCommand, Env: child, Wait: long})
		took := sinceLast()
		require.NoError(b, err)
		require.Zero(b, *out.Process.ExitCode, out.Text)
		return took
	}, func() time.Duration {
		prepare()
		cmd := roleCmd(child)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		require.NoError(b, cmd.Start())
		var status unix.WaitStatus
		for {
			if _, err := unix.Wait4(cmd.Process.Pid, &status, 0, nil); err != unix.EINTR {
				require.NoError(b, err)
				break
			}
		}
		took := sinceLast()
		require.Zero(b, status.ExitStatus())
		_ = cmd.Process.Release()
		return took
	})
}

// lastInstruction lets this process sleep until its caller sleeps, too, and
// then end at once. The time of its end is in the file, which it has mapped, so
// that nothing is written behind it.
func lastInstruction(t *testing.T, report string) {
	file, err := os.OpenFile(report, os.O_RDWR, 0)
	require.NoError(t, err)
	place, err := unix.Mmap(int(file.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	time.Sleep(3 * time.Millisecond) // nothing tells that the caller sleeps
	binary.NativeEndian.PutUint64(place, uint64(monotonic()))
	_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0) // does not return
}

// monotonic returns a time that all processes of the machine agree about.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}
