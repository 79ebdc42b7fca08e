package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A keeper of another program takes over, and a logs -f continues.
func TestKeeperIsReplaced(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	id, stderr, code := m.toolprocd(t, "run", "echo one; "+untilThere(dir+"/upgraded")+"echo two; exit 7")
	require.Zero(t, code, stderr)
	id = strings.TrimSpace(id)
	logs := m.start(t, "logs", "-f", id)
	logs.says(t, "one")
	first := m.keeper(t)

	// A newer program is another file, in place of the one that runs.
	newer := filepath.Join(dir, "toolprocd")
	data, err := os.ReadFile(program())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(newer, data, 0o700))
	words := m.words("upgrade")
	text, err := exec.Command(newer, words[1:]...).CombinedOutput()
	require.NoError(t, err, string(text))
	require.Empty(t, text)
	second := first
	require.Eventually(t, func() bool { // it answers a moment before it says that it serves
		second = m.keeper(t)
		return second != first
	}, long, 10*time.Millisecond)
	exe, err := os.Readlink("/proc/" + strconv.Itoa(second) + "/exe")
	require.NoError(t, err)
	require.NotEqual(t, program(), exe)
	require.NoError(t, os.WriteFile(dir+"/upgraded", nil, 0o600))
	logs.says(t, "two")
	require.Equal(t, 7, logs.ends(t))

	// When the new keeper is killed, logs says that the end is unknown.
	begin(t, m.client(t), "three", "echo ready; exec sleep 1000")
	logs = m.start(t, "logs", "-f", "three")
	logs.says(t, "ready")
	require.NoError(t, syscall.Kill(second, syscall.SIGKILL))
	require.Equal(t, 1, logs.ends(t))
	require.Contains(t, logs.stderr.String(), "it is not known how three has ended")
}

// untilThere is a part of a script that waits for a file.
func untilThere(file string) string {
	return "while [ ! -e " + file + " ]; do sleep 0.01; done; "
}

var serves = regexp.MustCompile(`msg="keeper serves" keeper=([0-9]+)`)

// keeper returns the pid of the keeper, which is the last one that says so in its
// log and lives.
func (m *machine) keeper(t *testing.T) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(m.dir, "keeper.log"))
		all := serves.FindAllStringSubmatch(string(text), -1)
		if err != nil || len(all) == 0 {
			return false
		}
		pid, _ = strconv.Atoi(all[len(all)-1][1])
		state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && !strings.Contains(string(state), ") Z")
	}, long, 10*time.Millisecond)
	return pid
}
