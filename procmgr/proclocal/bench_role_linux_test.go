package proclocal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// roleCommand runs this test binary in a part of a benchmark, with the
// variables of role.
const roleCommand = `exec "$PROCMGR_BENCHMARK_BINARY" '-test.run=^TestBenchmarkRole$'`

// role returns the variables that name the part, its number, and the file for
// its result.
func role(t testing.TB, name string, n int, report string) map[string]string {
	binary, err := os.Executable()
	require.NoError(t, err)
	return map[string]string{
		"PROCMGR_BENCHMARK_BINARY": binary,
		"PROCMGR_BENCHMARK_ROLE":   fmt.Sprint(name, " ", n),
		"PROCMGR_BENCHMARK_REPORT": report,
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

// played lets a program of its own play a part, and returns its result.
func played[T any](t testing.TB, name string, n int) (found T) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	out, err := roleCmd(role(t, name, n, report)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &found))
	return found
}

// TestBenchmarkRole is no test: it plays the parts for which the benchmarks run
// this binary as their child.
func TestBenchmarkRole(t *testing.T) {
	var name string
	var n int
	_, _ = fmt.Sscan(os.Getenv("PROCMGR_BENCHMARK_ROLE"), &name, &n) // neither: no part
	var found any
	switch name {
	case "write":
		writeBlocks(t, n, bytes.Repeat([]byte{'x'}, block))
		return
	case "build":
		writeBlocks(t, n, buildOutput())
		return
	case "idle-local":
		found = idleLocal(t, n)
	case "idle-plain":
		found = idlePlain(t, n)
	case "waiting-terminals":
		found = waitingTerminals(t, n, "printf '> '; read -r x", n)
	case "silent-terminals":
		found = waitingTerminals(t, n, "printf '> '; exec sleep 600", 0)
	default: // go test runs it, and no benchmark
		return
	}
	text, err := json.Marshal(found)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(os.Getenv("PROCMGR_BENCHMARK_REPORT"), text, 0o600))
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
