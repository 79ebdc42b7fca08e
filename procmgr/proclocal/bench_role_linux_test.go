package proclocal_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// roleCommand runs this test binary in a part of a benchmark, with the
// variables of role.
const roleCommand = `exec "$PROCMGR_BENCHMARK_BINARY" '-test.run=^TestBenchmarkRole$'`

// role returns the variables that name the part, and how many blocks it writes.
func role(t testing.TB, name string, blocks int) map[string]string {
	binary, err := os.Executable()
	require.NoError(t, err)
	return map[string]string{
		"PROCMGR_BENCHMARK_BINARY": binary,
		"PROCMGR_BENCHMARK_ROLE":   fmt.Sprint(name, " ", blocks),
	}
}

// roleCmd is roleCommand for os/exec.
func roleCmd(variables map[string]string) *exec.Cmd {
	cmd := exec.Command(plainShell(), "-c", roleCommand)
	cmd.Env = os.Environ()
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// TestBenchmarkRole is no test: it plays the parts for which the benchmarks run
// this binary as their child. If go test runs it, it has no part.
func TestBenchmarkRole(t *testing.T) {
	var name string
	var n int
	_, _ = fmt.Sscan(os.Getenv("PROCMGR_BENCHMARK_ROLE"), &name, &n)
	switch name {
	case "write":
		writeBlocks(t, n, bytes.Repeat([]byte{'x'}, block))
	case "build":
		writeBlocks(t, n, buildOutput())
	}
}

const block = 64 << 10 // bytes

// writeBlocks writes a block to stdout n times, by the bare system call.
func writeBlocks(t *testing.T, n int, all []byte) {
	for range n {
		for rest := all; len(rest) > 0; {
			wrote, err := unix.Write(unix.Stdout, rest)
			if err == unix.EINTR {
				continue
			}
			require.NoError(t, err)
			rest = rest[wrote:]
		}
	}
}
