package proclocal_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The time from a child's last instruction to the return of the caller that
// waits for it, beside the least that a program can do: a thread that blocks in
// wait4. Meanwhile this program sleeps, as one that waits for a command does.
func BenchmarkWakeUp(b *testing.B) {
	if runtime.GOARCH != "amd64" {
		testenv.Lacks(b, "amd64", "the child is made of its instructions")
	}
	child := filepath.Join(b.TempDir(), "child")
	require.NoError(b, os.WriteFile(child, lastInstruction(), 0o700))
	report := filepath.Join(b.TempDir(), "report")
	require.NoError(b, os.WriteFile(report, make([]byte, binary.Size(unix.Timespec{})), 0o600))
	// sinceLast returns how long ago the child has reported its last instruction.
	sinceLast := func() time.Duration {
		returned := monotonic()
		text, err := os.ReadFile(report)
		require.NoError(b, err)
		var last unix.Timespec
		require.NoError(b, binary.Read(bytes.NewReader(text), binary.NativeEndian, &last))
		require.NotZero(b, last, "the child has not come so far")
		require.NoError(b, os.WriteFile(report, make([]byte, len(text)), 0o600))
		return time.Duration(returned - last.Nano())
	}
	l := newLocal(b, &proclocal.Options{Shell: []string{child}}) // it takes the command for a file's name
	beside.Times(b, func() time.Duration {
		out, err := l.Start(context.Background(), procmgr.StartRequest{Command: report, Wait: long})
		took := sinceLast()
		require.NoError(b, err)
		require.Zero(b, *out.Process.ExitCode, out.Text)
		return took
	}, func() time.Duration {
		cmd := exec.Command(child, report)
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

// lastInstruction returns a program of 64-bit x86 that sleeps until its caller
// sleeps, too, and then ends at once. It writes the time of its end to the file
// that its argument names, which it has mapped, so that nothing is written
// behind it. It has no runtime and no library, which the kernel would have to
// take apart.
func lastInstruction() []byte {
	code := []byte("" +
		"\x48\x8b\x7c\x24\x10" + "\xbe\x02\x00\x00\x00" + // rdi = argv[1], esi = O_RDWR
		"\xb8\x02\x00\x00\x00" + "\x0f\x05" + "\x49\x89\xc0" + // r8 = open(rdi, esi)
		"\x31\xff" + "\xbe\x00\x10\x00\x00" + "\xba\x03\x00\x00\x00" + // edi = 0, esi = 4096, edx = PROT_READ|PROT_WRITE
		"\x41\xba\x01\x80\x00\x00" + "\x45\x31\xc9" + // r10d = MAP_SHARED|MAP_POPULATE, r9d = 0
		"\xb8\x09\x00\x00\x00" + "\x0f\x05" + "\x48\x89\xc3" + // rbx = mmap(edi, esi, edx, r10d, r8, r9d)
		"\x68\xc0\xc6\x2d\x00" + "\x6a\x00" + // push 3000000, push 0: a timespec
		"\x48\x89\xe7" + "\x31\xf6" + "\xb8\x23\x00\x00\x00" + "\x0f\x05" + // nanosleep(rsp, 0): nothing tells that the caller sleeps
		"\xbf\x01\x00\x00\x00" + "\x48\x89\xde" + "\xb8\xe4\x00\x00\x00" + "\x0f\x05" + // clock_gettime(CLOCK_MONOTONIC, rbx)
		"\x31\xff" + "\xb8\xe7\x00\x00\x00" + "\x0f\x05") // exit_group(0)
	const header, segment, place = 64, 56, 0x400000
	size := header + segment + uint64(len(code))
	var file bytes.Buffer
	for _, part := range []any{
		[16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1},                                              // 64 bits, little-endian
		[2]uint16{2, 62}, uint32(1), [3]uint64{place + header + segment, header}, uint32(0), // an executable of x86-64
		[6]uint16{header, segment, 1},                                 // it has one segment:
		[2]uint32{1, 5}, [6]uint64{0, place, place, size, size, 4096}, // the whole file, read and executed
		code,
	} {
		_ = binary.Write(&file, binary.LittleEndian, part) // a Buffer takes everything
	}
	return file.Bytes()
}

// monotonic returns a time that all processes of the machine agree about.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}
