package procmgr_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
)

// A full disk ends the log, and nothing else.
func TestLogOnAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "small")
	require.NoError(t, os.Mkdir(dir, 0o700))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("only root can mount a small disk: ", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	l := newLocal(t, &procmgr.Options{LogDir: dir})
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
	require.NotEmpty(t, out.Process.LogError)
	require.NoError(t, l.Close())
}

// Others must not be able to put something into the logs' place.
func TestLogDirOfOthers(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err := procmgr.NewLocal(&procmgr.Options{LogDir: dir})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "others can write to it, make it 0700")
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	newLocal(t, &procmgr.Options{LogDir: dir})
}

// An open log costs a descriptor for as long as its process runs, and none
// after it.
func TestLogDescriptors(t *testing.T) {
	l, _ := logged(t, procmgr.Options{})
	run(t, l, "true")
	before := descriptors()
	for range 20 {
		run(t, l, "seq 10")
	}
	eventually(t, "they are closed", func() bool { return descriptors() <= before })
}
