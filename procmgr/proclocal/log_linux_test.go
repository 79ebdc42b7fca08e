package proclocal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

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
