package proclocal_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// killPID kills one process, even if another program started it.
func killPID(t testing.TB, pid string) {
	t.Helper()
	require.NoError(t, syscall.Kill(atoi(t, pid), syscall.SIGKILL))
}

// killMarked kills the processes that a failed test has left.
func killMarked(marker string) {
	for range 10 {
		for _, pid := range marked(marker) {
			var n int
			if _, err := fmt.Sscan(pid, &n); err == nil && n != os.Getpid() {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
}

// said starts a program, and returns what it prints behind a word.
func said(t *testing.T, cmd *exec.Cmd, word string) (rest string) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	text := ""
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), word); ok {
			return rest
		}
		text += lines.Text() + "\n"
	}
	require.Fail(t, "it does not say that", "%q: %s", word, text)
	return ""
}

// A gibibyte in one line takes no more memory than any other output.
func TestHeldOneEndlessLine(t *testing.T) {
	testenv.Held(t)
	l := newLocal(t, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := start(t, l, procmgr.StartRequest{
		Command: `head -c 1G /dev/zero | tr '\0' x; exit 3`,
		Wait:    4 * long,
	})
	runtime.ReadMemStats(&after)
	require.Equal(t, 3, *out.Process.ExitCode)
	require.Equal(t, int64(1<<30), out.Next)
	require.Equal(t, int64(1<<30), out.Truncated.OriginalBytes)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "bytes allocated in all")
	require.LessOrEqual(t, len(out.Text), 32<<10)
}

// A process that closes its output runs on, and the manager says so.
func TestOutputClosed(t *testing.T) {
	tests := []struct {
		name, command string
		text          string
		state         procmgr.State
	}{
		{"and runs on", "echo bye; exec >&- 2>&-; touch $DONE; sleep 1000; :", "bye\n", procmgr.Running},
		{"and becomes another", "echo bye; touch $DONE; exec sleep 1000 >&- 2>&-", "bye\n", procmgr.Running},
		{"and opens it again", "exec 3>&1; exec >&- 2>&-; exec >&3 2>&1 3>&-; echo back; touch $DONE; sleep 1000; :", "back\n", procmgr.Running},
		{"and leaves a child", "echo bye; exec >&- 2>&-; sleep 1000 & touch $DONE; exit 0", "bye\n", procmgr.Detached},
		{"and its child has it", "(read x <$FIFO; echo later; exec sleep 1000) & exec >&- 2>&-; echo go >$FIFO; touch $DONE; wait", "later\n", procmgr.Running},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLocal(t, nil)
			done, fifo := filepath.Join(t.TempDir(), "done"), filepath.Join(t.TempDir(), "fifo")
			require.NoError(t, unix.Mkfifo(fifo, 0o600))
			out := start(t, l, procmgr.StartRequest{ID: "x", Command: tt.command, Env: map[string]string{"DONE": done, "FIFO": fifo}})
			eventually(t, "it gets there", func() bool {
				out = output(t, l, "x", procmgr.OutputRequest{})
				_, err := os.Stat(done)
				return err == nil && out.Text == tt.text && out.Process.State == tt.state
			})
			// The end of the output is not taken for the end of the process.
			out = output(t, l, "x", procmgr.OutputRequest{Wait: 60 * time.Millisecond})
			require.Equal(t, tt.state, out.Process.State)
			require.NoError(t, l.Signal(t.Context(), "x", procmgr.Kill))
			p := ended(t, l, "x").Process
			require.Equal(t, procmgr.CauseRequest, p.EndedBy)
			if tt.state == procmgr.Running {
				require.Equal(t, "SIGKILL", p.Signal)
			}
		})
	}
}

// A host that was itself started without stdin, stdout and stderr runs
// commands like any other.
func TestHostWithoutDescriptors(t *testing.T) {
	if inProgram(t) {
		l := newLocal(t, nil)
		out := run(t, l, "cat; echo out; echo err >&2; for i in 0 1 2; do readlink /proc/$$/fd/$i; done; exit 3")
		require.Equal(t, 3, *out.Process.ExitCode)
		require.Regexp(t, `^out\nerr\n/dev/null\n(pipe:\[\d+\]\n){2}$`, out.Text)
		require.NoError(t, os.WriteFile(os.Getenv("RESULT"), []byte("passed"), 0o600))
		return
	}
	for _, closed := range []string{"<&-", ">&-", "<&- >&-", "<&- >&- 2>&-"} {
		t.Run(closed, func(t *testing.T) {
			result := filepath.Join(t.TempDir(), "result")
			cmd := exec.CommandContext(t.Context(), "sh", "-c", `exec "$0" "-test.run=^TestHostWithoutDescriptors$" `+closed, os.Args[0])
			cmd.Env = append(os.Environ(), programVariable+"=TestHostWithoutDescriptors", "RESULT="+result)
			text, err := cmd.CombinedOutput()
			require.NoError(t, err, string(text))
			text, err = os.ReadFile(result)
			require.NoError(t, err)
			require.Equal(t, "passed", string(text))
		})
	}
}

// A new manager removes the logs of a host that was killed, and leaves the logs of
// live hosts and everything else in the directory alone.
func TestLogsOfAKilledHost(t *testing.T) {
	if inProgram(t) {
		l := newLocal(t, &proclocal.Options{LogDir: os.Getenv("LOGS")})
		fmt.Println("log " + run(t, l, "seq 5").Process.LogPath)
		<-t.Context().Done()
	}
	dir := t.TempDir()
	living := run(t, newLocal(t, &proclocal.Options{LogDir: dir}), "seq 5").Process.LogPath
	others := []string{"other", "toolproc-logs-file", "toolproc-logs-link"} // the last two look like a host's directory
	require.NoError(t, os.Mkdir(filepath.Join(dir, others[0]), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, others[1]), nil, 0o600))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, others[2])))

	cmd := program(t)
	cmd.Env = append(cmd.Env, "LOGS="+dir)
	dead := said(t, cmd, "log ")
	require.FileExists(t, dead)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	newLocal(t, &proclocal.Options{LogDir: dir})
	require.NoFileExists(t, dead)
	require.FileExists(t, living)
	for _, other := range others {
		_, err := os.Lstat(filepath.Join(dir, other))
		require.NoError(t, err)
	}
}

// A full disk ends the log, and nothing else.
func TestLogOnAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "small")
	require.NoError(t, os.Mkdir(dir, 0o700))
	testenv.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
	l := newLocal(t, &proclocal.Options{LogDir: dir})
	out := run(t, l, "seq 100000; exit 3")
	require.Equal(t, 3, *out.Process.ExitCode)
	require.Regexp(t, `^it ends after \d+ bytes: no space left on device$`, out.Process.LogError)
	stream := numbers(100000)
	data, err := os.ReadFile(out.Process.LogPath)
	require.NoError(t, err)
	require.NotEmpty(t, data)
	require.True(t, strings.HasPrefix(stream, string(data)))
	require.True(t, strings.HasSuffix(out.Text, "100000\n"))
	require.EqualValues(t, len(stream), out.Next)

	// The next process has no room either, and runs all the same.
	out = run(t, l, "seq 10")
	require.Equal(t, numbers(10), out.Text)
	require.Equal(t, "nothing could be written: no space left on device", out.Process.LogError)
	require.Empty(t, out.Process.LogPath, "a file without a byte")
	require.NoError(t, l.Close())
}

// The manager does not read a file that a command has put in the place of its
// log, and no call blocks on it.
func TestLogThatWasReplaced(t *testing.T) {
	for name, replace := range map[string]func(path, other string) error{
		"a FIFO":      func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
		"a link":      func(path, other string) error { return os.Symlink(filepath.Base(other), path) },
		"another log": func(path, other string) error { return os.Link(other, path) },
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := logged(t, proclocal.Options{Head: 10, Tail: 10})
			other := run(t, l, "yes other | head -n 1000")
			out := run(t, l, "seq 1000")
			path := out.Process.LogPath
			require.NoError(t, os.Remove(path))
			require.NoError(t, replace(path, other.Process.LogPath))
			out = output(t, l, out.Process.ID, procmgr.OutputRequest{})
			require.NotContains(t, out.Text, "other")
			require.True(t, strings.HasSuffix(out.Text, "999\n1000\n"))
			out = output(t, l, out.Process.ID, procmgr.OutputRequest{Until: "other"})
			require.False(t, out.Matched)
		})
	}
}
