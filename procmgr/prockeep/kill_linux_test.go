package prockeep_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// freezable mounts a file system that can be frozen: a process that writes to it then
// resists SIGKILL until it is thawed.
func freezable(t *testing.T) (dir string, freeze, thaw func()) {
	t.Helper()
	testenv.Root(t)
	testenv.Programs(t, "mkfs.ext4", "mount", "umount", "fsfreeze")
	image := filepath.Join(t.TempDir(), "image")
	dir = t.TempDir()
	do := func(name string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
	}
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 8<<20))
	do("mkfs.ext4", "-q", "-F", image)
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		testenv.Lacks(t, "loop", "a file cannot be mounted: %s", out)
	}
	t.Cleanup(func() { do("umount", dir) })
	frozen := false
	freeze = func() { do("fsfreeze", "-f", dir); frozen = true }
	thaw = func() {
		if frozen {
			do("fsfreeze", "-u", dir)
			frozen = false
		}
	}
	t.Cleanup(thaw)
	return dir, freeze, thaw
}

// An upgrade waits for a Kill that is under way. Nobody is told that a process has
// gone which lives, or the other way round.
func TestHeldUpgradeDuringAKill(t *testing.T) {
	testenv.Held(t)
	for name, inTime := range map[string]bool{"that succeeds": true, "that fails": false} {
		t.Run(name, func(t *testing.T) {
			disk, freeze, thaw := freezable(t)
			dir := newDir(t)
			k, other := open(t, dir, nil), open(t, dir, nil)
			keeper := keeperPID(t, k)
			holder := parentOf(t, keeper)
			_, err := k.Start(t.Context(), procmgr.StartRequest{
				ID: "x", Stdin: procmgr.StdinPipe, Command: "echo ready; read line; echo line > " + filepath.Join(disk, "file") + "; exec sleep 1000",
			})
			require.NoError(t, err)
			out, err := k.Output(t.Context(), "x", procmgr.OutputRequest{Until: "^ready$", Wait: long})
			require.NoError(t, err)
			victim := out.Process.PID
			freeze()
			defer thaw()
			_, err = k.Input(t.Context(), "x", procmgr.InputRequest{Data: []byte("\n")})
			require.NoError(t, err)
			awaitState(t, victim, "D")

			killed, upgraded := make(chan error, 1), make(chan error, 1)
			go func() { killed <- k.Signal(context.Background(), "x", procmgr.Kill) }()
			require.Eventually(t, func() bool { return pendingKill(t, victim) }, long, time.Millisecond)
			go func() { upgraded <- other.Upgrade(context.Background()) }()
			require.Eventually(t, func() bool { return len(childrenOf(t, holder, victim)) == 2 }, long, time.Millisecond)
			if inTime {
				thaw()
				require.NoError(t, <-killed)
			} else {
				require.ErrorContains(t, <-killed, strconv.Itoa(victim), "it names the survivor")
				require.True(t, alive(victim))
				require.NoError(t, <-upgraded)
				upgraded <- nil
				out, err = k.Output(t.Context(), "x", procmgr.OutputRequest{})
				require.NoError(t, err)
				require.NotEqual(t, procmgr.Exited, out.Process.State)
				thaw()
			}
			require.NoError(t, <-upgraded)
			out, err = k.Output(t.Context(), "x", procmgr.OutputRequest{Wait: long})
			require.NoError(t, err)
			require.Equal(t, procmgr.Exited, out.Process.State)
			require.Equal(t, "SIGKILL", out.Process.Signal)
			require.Equal(t, procmgr.CauseRequest, out.Process.EndedBy)
			require.False(t, alive(victim))
			require.NotEqual(t, keeper, keeperPID(t, k))
		})
	}
}

// awaitState waits until a process is in a state of proc(5).
func awaitState(t *testing.T, pid int, state string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, rest, _ := strings.Cut(stateOf(pid), ") ")
		return strings.HasPrefix(rest, state)
	}, long, time.Millisecond)
}

// pendingKill reports whether a process was sent SIGKILL and has not ended by it yet.
func pendingKill(t *testing.T, pid int) bool {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(t, err)
	const kill = 1 << 8
	for line := range strings.Lines(string(status)) {
		for _, name := range []string{"SigPnd:", "ShdPnd:"} {
			if mask, ok := strings.CutPrefix(line, name); ok {
				set, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
				require.NoError(t, err)
				if set&kill != 0 {
					return true
				}
			}
		}
	}
	return false
}

// childrenOf returns the children of a process without one.
func childrenOf(t *testing.T, parent, without int) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/" + strconv.Itoa(parent) + "/task/*/children")
	require.NoError(t, err)
	for _, path := range all {
		text, _ := os.ReadFile(path) // the thread may have ended
		for _, child := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(child); err == nil && pid != without {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
