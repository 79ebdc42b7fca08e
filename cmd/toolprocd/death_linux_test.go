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

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// The keeper is killed, and then it is upgraded to another program. A run, a
// logs -f and a client's wait that are under way go on across both. A client's
// start is unknown at the death, and Attached when it is asked for again.
func TestKeeperIsReplaced(t *testing.T) {
	m := newMachine(t)
	keeperIsReplaced(t, m, m.client(t))
}

func TestHeldKeeperIsReplacedBehindSSH(t *testing.T) {
	testenv.Held(t)
	m := newMachine(t)
	keeperIsReplaced(t, m, clientVia(t, append(testenv.SSH(t), m.words("stdio")...)))
}

func keeperIsReplaced(t *testing.T, m *machine, c *prochttp.Client) {
	dir := t.TempDir()
	command := "echo ran >> " + dir + "/ran; echo one; " + untilThere(dir+"/killed") + "echo two; " + untilThere(dir+"/upgraded") + "echo three; exit 7"
	run := m.start(t, "run", command)
	run.says(t, "one")
	page, err := c.List(t.Context(), procmgr.ListRequest{})
	list := page.Processes
	require.NoError(t, err)
	require.Len(t, list, 1)
	logs := m.start(t, "logs", "-f", list[0].ID)
	logs.says(t, "one")
	type answer struct {
		out procmgr.Output
		err error
	}
	read, started := make(chan answer, 1), make(chan answer, 1)
	go func() { // waited for below
		out, err := c.Output(t.Context(), list[0].ID, procmgr.OutputRequest{Wait: 2 * long, Until: "^three$"})
		read <- answer{out, err}
	}()
	req := procmgr.StartRequest{
		ID: "once", Wait: 2 * long,
		Command: "echo once >> " + dir + "/ran; echo begun > " + dir + "/begun; " + untilThere(dir+"/upgraded") + "exit 8",
	}
	start := func() { // as well
		out, err := c.Start(t.Context(), req)
		started <- answer{out, err}
	}
	go start()
	require.Eventually(t, func() bool { _, err := os.Stat(dir + "/begun"); return err == nil }, long, time.Millisecond)

	killed := m.keeper(t)
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
	require.NoError(t, os.WriteFile(dir+"/killed", nil, 0o600))
	run.says(t, "two")
	logs.says(t, "two")
	require.ErrorIs(t, (<-started).err, procmgr.ErrUnknown)
	go start()
	second := m.keeper(t)
	require.NotEqual(t, killed, second)

	// A newer program is another file, in place of the one that runs.
	newer := filepath.Join(dir, "toolprocd")
	data, err := os.ReadFile(program())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(newer, data, 0o700))
	words := m.words("upgrade")
	text, err := exec.Command(newer, words[1:]...).CombinedOutput()
	require.NoError(t, err, string(text))
	require.Empty(t, text)
	third := m.keeper(t)
	require.NotEqual(t, second, third)
	exe, err := os.Readlink("/proc/" + strconv.Itoa(third) + "/exe")
	require.NoError(t, err)
	require.NotEqual(t, program(), exe)
	require.NoError(t, os.WriteFile(dir+"/upgraded", nil, 0o600))
	run.says(t, "three")
	require.Equal(t, 7, run.ends(t))
	logs.says(t, "three")
	require.Zero(t, logs.ends(t))

	first := <-read
	require.NoError(t, first.err)
	require.True(t, first.out.Matched)
	require.Equal(t, "one\ntwo\nthree\n", first.out.Text)
	first = <-started
	require.NoError(t, first.err)
	require.True(t, first.out.Attached)
	require.Equal(t, 8, *first.out.Process.ExitCode)
	ran, err := os.ReadFile(dir + "/ran")
	require.NoError(t, err)
	require.Equal(t, "ran\nonce\n", string(ran))
}

// untilThere is a part of a script that waits for a file.
func untilThere(file string) string {
	return "while [ ! -e " + file + " ]; do sleep 0.01; done; "
}

var serves = regexp.MustCompile(`msg="keeper serves".* pid=([0-9]+)`)

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
