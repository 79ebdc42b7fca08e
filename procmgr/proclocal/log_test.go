package proclocal_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// logged returns a Local with logs, and their directory.
func logged(t testing.TB, opts proclocal.Options) (*proclocal.Local, string) {
	t.Helper()
	opts.LogDir = filepath.Join(t.TempDir(), "logs")
	return newLocal(t, &opts), opts.LogDir
}

// numbers returns the output of "seq n".
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Itoa(i + 1))
		b.WriteByte('\n')
	}
	return b.String()
}

// The log has every byte of the stream, in a file that only its user can read.
func TestLogFile(t *testing.T) {
	l, dir := logged(t, proclocal.Options{})
	out := run(t, l.Chat("a"), `printf '\033[31mred\033[0m\n'; seq 20000; printf 'work 1%%\rwork 99%%\n'`)
	want := "red\n" + numbers(20000) + "work 1%\nwork 99%\n"
	require.NotNil(t, out.Truncated)
	require.Empty(t, out.Process.LogError)
	data, err := os.ReadFile(out.Process.LogPath)
	require.NoError(t, err)
	require.Equal(t, want, string(data))
	require.EqualValues(t, len(want), out.Next, "offsets are those of the log")

	rel, err := filepath.Rel(dir, out.Process.LogPath)
	require.NoError(t, err)
	require.NotContains(t, rel, out.Process.ID, "names are the manager's own")
	for path, want := range map[string]fs.FileMode{
		dir:                               fs.ModeDir | 0o700,
		filepath.Dir(out.Process.LogPath): fs.ModeDir | 0o700,
		out.Process.LogPath:               0o600,
	} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want.Type(), info.Mode().Type())
		if runtime.GOOS != "windows" { // the mode there does not say who may read it
			require.Equal(t, want, info.Mode())
		}
	}

	require.Equal(t, out.Process.LogPath, list(t, l)[0].LogPath)

	require.NoError(t, l.Close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "the logs go with the Local")
	out = output(t, l, out.Process.ID, procmgr.OutputRequest{})
	require.Empty(t, out.Process.LogPath)
	require.True(t, strings.HasSuffix(out.Text, "work 99%\n"))
}

// The text that the window has dropped comes from the log. From any offset, the
// text is the stream from there on, up to the limit.
func TestPagesFromTheLog(t *testing.T) {
	l, _ := logged(t, proclocal.Options{Head: 1000, Tail: 1000})
	out := run(t, l, "seq 20000")
	stream := numbers(20000)
	for _, from := range []int{0, 1, 500, 1000, 1001, 50_000, len(stream) - 2000, len(stream) - 1000, len(stream) - 1, len(stream), len(stream) + 9} {
		for _, limit := range []int{0, 200, 3000, 100_000, -1} {
			out := output(t, l, out.Process.ID, procmgr.OutputRequest{From: int64(from), Limit: headtail.Limits{Bytes: limit}})
			rest := stream[min(from, len(stream)):]
			require.EqualValues(t, len(stream), out.Next)
			room := limit
			if limit == 0 {
				room = headtail.DefaultTextLimit
			}
			if limit < 0 || len(rest) <= room {
				require.Equal(t, rest, out.Text, "from %d, limit %d", from, limit)
				require.Nil(t, out.Truncated)
				continue
			}
			first, last, ok := strings.Cut(out.Text, "\n\n... [omitted ")
			require.True(t, ok)
			_, last, ok = strings.Cut(last, "] ...\n\n")
			require.True(t, ok)
			require.True(t, strings.HasPrefix(rest, first), "from %d, limit %d", from, limit)
			require.True(t, strings.HasSuffix(rest, last), "from %d, limit %d", from, limit)
			require.Greater(t, len(out.Text), room*9/10, "the room is used: from %d, limit %d", from, limit)
			require.LessOrEqual(t, len(out.Text), room)
			require.EqualValues(t, len(rest), out.Truncated.OriginalBytes)
		}
	}
}

// If the log fills only a part of a gap, no rune is cut.
func TestLogPagesKeepRunesWhole(t *testing.T) {
	l, _ := logged(t, proclocal.Options{Head: 100, Tail: 100})
	out := run(t, l, `i=0; while [ $i -lt 300 ]; do printf 'ä€😀ä€😀ä€😀ä€😀ä€😀'; i=$((i+1)); done`)
	for limit := 70; limit < 110; limit++ {
		for _, from := range []int64{0, 2, 900} {
			out := output(t, l, out.Process.ID, procmgr.OutputRequest{From: from, Limit: headtail.Limits{Bytes: limit, Line: -1}})
			if from != 900 { // 900 may be within a rune: the caller has its beginning
				require.NotContains(t, out.Text, "\uFFFD", "limit %d", limit)
			}
		}
	}
}

// A log has a limit; its process does not notice.
func TestMaxLog(t *testing.T) {
	l, _ := logged(t, proclocal.Options{MaxLog: 10_000})
	out := run(t, l, "seq 20000; exit 3")
	require.Equal(t, 3, *out.Process.ExitCode)
	require.Equal(t, "it ends after 10000 bytes, the limit of a log", out.Process.LogError)
	data, err := os.ReadFile(out.Process.LogPath)
	require.NoError(t, err)
	require.Equal(t, numbers(20000)[:10_000], string(data))
	require.True(t, strings.HasSuffix(out.Text, "20000\n"))
	out = output(t, l, out.Process.ID, procmgr.OutputRequest{From: 5000})
	require.True(t, strings.HasPrefix(out.Text, numbers(20000)[5000:9000]), "what it has can be read")
	require.True(t, strings.HasSuffix(out.Text, "20000\n"))
}

// All logs together have a limit: the oldest log of a process that has exited
// goes first.
func TestMaxLogs(t *testing.T) {
	l, _ := logged(t, proclocal.Options{MaxLogs: 25_000})
	var all []procmgr.Output
	for range 4 {
		all = append(all, run(t, l, "head -c 10000 /dev/zero | tr '\\0' x"))
	}
	for i, out := range all {
		now := output(t, l, out.Process.ID, procmgr.OutputRequest{})
		require.Len(t, now.Text, 10000, "the output is there")
		if i < 2 {
			require.Empty(t, now.Process.LogPath)
			eventually(t, "it is removed", func() bool {
				_, err := os.Stat(out.Process.LogPath)
				return os.IsNotExist(err)
			})
			continue
		}
		require.NotEmpty(t, now.Process.LogPath)
		require.FileExists(t, now.Process.LogPath)
	}
	// A log that is larger than all may be takes the place of the others, and
	// ends.
	out := run(t, l, "head -c 30000 /dev/zero | tr '\\0' x")
	require.Contains(t, out.Process.LogError, "no room: all logs together have reached their limit")
	require.EqualValues(t, 30000, out.Next)
}

// The log goes with its record.
func TestLogGoesWithItsRecord(t *testing.T) {
	l, dir := logged(t, proclocal.Options{Retain: 1, MaxLogs: 100_000}) // 1 ns
	for range 50 {                                                      // its bytes are given back as well
		out := run(t, l, "head -c 10000 /dev/zero | tr '\\0' x")
		require.Empty(t, out.Process.LogError)
		eventually(t, "it is removed", func() bool {
			files, err := filepath.Glob(dir + "/*/*")
			return err == nil && len(files) == 0
		})
		require.Empty(t, output(t, l, out.Process.ID, procmgr.OutputRequest{}).Process.LogPath)
	}
}

// The manager does not follow a link that somebody has put in the place of its directory.
func TestLogsAndIntruders(t *testing.T) {
	needs(t, "way to replace a file that is open")
	l, dir := logged(t, proclocal.Options{Head: 10, Tail: 10})
	log := run(t, l, "seq 1000").Process.LogPath
	made := filepath.Dir(log)
	require.NoError(t, os.Rename(made, made+"-moved"))
	require.NoError(t, os.Symlink(t.TempDir(), made))
	out := run(t, l, "seq 1000")
	require.Empty(t, out.Process.LogPath, "it is in the directory that was made, and not where that was")
	files, err := filepath.Glob(made + "-moved/*.log")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	require.NoError(t, os.Remove(made))
	require.NoError(t, os.Rename(made+"-moved", made))
	require.NoError(t, l.Close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A command may remove the logs, or all that it finds. It is said at once that a
// log is gone, and later processes have theirs in a directory that is made again.
func TestLogThatWasRemoved(t *testing.T) {
	needs(t, "way to remove a directory that is open")
	l, dir := logged(t, proclocal.Options{Head: 10, Tail: 10})
	ends := run(t, l, "seq 1000").Process
	runs := begin(t, l, "seq 1000; echo ready; exec sleep 1000").Process
	alone := run(t, l, "seq 1000").Process
	gone := func(id string) {
		out := output(t, l, id, procmgr.OutputRequest{})
		all := list(t, l)
		at := slices.IndexFunc(all, func(p procmgr.Process) bool { return p.ID == id })
		for _, p := range []procmgr.Process{out.Process, all[at]} {
			require.Empty(t, p.LogPath)
			require.Equal(t, "its file has been removed", p.LogError)
		}
	}
	require.NoError(t, os.Remove(alone.LogPath))
	gone(alone.ID)
	require.FileExists(t, output(t, l, ends.ID, procmgr.OutputRequest{}).Process.LogPath)

	require.NoError(t, os.RemoveAll(dir))
	gone(ends.ID)
	gone(runs.ID)
	for range 2 {
		p := run(t, l, "echo all the same").Process
		require.Empty(t, p.LogError)
		text, err := os.ReadFile(p.LogPath)
		require.NoError(t, err)
		require.Equal(t, "all the same\n", string(text))
	}
	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.NoError(t, l.Close())
	made, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, made)
}

// A log that cannot be made leaves the process alone.
func TestLogThatCannotBeMade(t *testing.T) {
	needs(t, "way to remove a directory that is open")
	l, dir := logged(t, proclocal.Options{})
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	out := run(t, l, "echo all the same; exit 4")
	require.Equal(t, "all the same\n", out.Text)
	require.Equal(t, 4, *out.Process.ExitCode)
	require.Empty(t, out.Process.LogPath)
	require.Equal(t, "no log: not a directory", out.Process.LogError)
}

func TestLogDirThatCannotServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := proclocal.New(&proclocal.Options{LogDir: file})
	require.ErrorContains(t, err, "procmgr: new local: log directory: ")
}

// A search tells what it has found and where, and how much it has not looked at.
func TestSearch(t *testing.T) {
	const lines = `i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done`
	at := func(n int) (offset int64) {
		for i := range n {
			offset += int64(len(fmt.Sprintf("line %d\n", i)))
		}
		return offset
	}
	total := at(2000)
	for _, tt := range []struct {
		name, command, until string
		opts                 proclocal.Options
		from                 int64
		matched              bool
		line                 string
		at, unsearched       int64
	}{
		{name: "what is kept", command: lines, until: "^line 1234$", matched: true, line: "line 1234", at: at(1234)},
		{name: "from an offset on", command: lines, until: "^line 12.4$", from: at(1230), matched: true, line: "line 1234", at: at(1234)},
		{name: "from within a line", command: lines, until: "^e 1234$", from: at(1234) + 3, matched: true, line: "e 1234", at: at(1234) + 3},
		{name: "all of it", command: lines, until: "never"},
		{name: "what has been dropped", command: lines, until: "^line 1234$", opts: proclocal.Options{Head: 100, Tail: 100}, unsearched: total - 200},
		{name: "what has been dropped from an offset on", command: lines, until: "^line 12$", from: at(1000), opts: proclocal.Options{Head: 100, Tail: 100}, unsearched: total - at(1000) - 100},
		{name: "behind what has been dropped", command: lines, until: "^line 1999$", opts: proclocal.Options{Head: 100, Tail: 100}, matched: true, line: "line 1999", at: at(1999), unsearched: total - 200},
		{name: "what the log has", command: lines, until: "^line 1234$", opts: proclocal.Options{Head: 100, Tail: 100, LogDir: "log"}, matched: true, line: "line 1234", at: at(1234)},
		{name: "what a log that ended has not", command: lines, until: "^line 1234$", opts: proclocal.Options{Head: 100, Tail: 100, LogDir: "log", MaxLog: 1000}, unsearched: total - 1100},
		{name: "the rest of long lines", command: "head -c 5000 /dev/zero | tr '\\0' x; echo; head -c 9000 /dev/zero | tr '\\0' y", until: "z",
			opts: proclocal.Options{Head: 20000}, unsearched: 5000 - 4096 + 9000 - 4096},
		{name: "a long line", command: "head -c 3000 /dev/zero | tr '\\0' x; printf needle; head -c 3000 /dev/zero | tr '\\0' y; echo", until: "needle",
			opts: proclocal.Options{Head: 20000}, matched: true, line: "…" + strings.Repeat("x", 98) + "needle" + strings.Repeat("y", 190) + "…"},
		{name: "any new output", command: lines, until: ".", matched: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.opts.LogDir != "" {
				tt.opts.LogDir = t.TempDir()
			}
			l := newLocal(t, &tt.opts)
			id := run(t, l, tt.command).Process.ID
			out := output(t, l, id, procmgr.OutputRequest{From: tt.from, Until: tt.until})
			require.Equal(t, tt.matched, out.Matched)
			require.Equal(t, tt.line, out.MatchedLine)
			require.Equal(t, tt.at, out.MatchedAt)
			require.Equal(t, tt.unsearched, out.Unsearched)

			out = output(t, l, id, procmgr.OutputRequest{From: tt.from})
			require.Zero(t, out.Unsearched, "nothing was looked for")
		})
	}
}
