package prockeep_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// copyOfItself returns the path of the test binary under another name.
func copyOfItself(t *testing.T, name string) string {
	t.Helper()
	own, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	if os.Link(own, path) == nil {
		return path
	}
	from, err := os.Open(own) // on another file system
	require.NoError(t, err)
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	return path
}

// A program whose states have another version does not go on for a keeper: nothing has
// changed, and the error names both versions and says what to do.
func TestUpgradeToAnotherVersion(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	pid := keeperPID(t, k)
	_, err := k.Start(t.Context(), procmgr.StartRequest{ID: "cat", Command: "exec cat", Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	other := open(t, dir, &prockeep.Options{Path: copyOfItself(t, otherVersion)})
	require.EqualError(t, other.Upgrade(t.Context()), "prockeep: upgrade: the new program cannot go on for the keeper: "+
		"the keeper's state has version 1, and this program reads version 2: "+
		"upgrade it with a program of its version, or stop it, which ends its processes")
	require.Equal(t, pid, keeperPID(t, k))
	out, err := k.Input(t.Context(), "cat", procmgr.InputRequest{Data: []byte("one\n"), Until: "one", Wait: long})
	require.NoError(t, err)
	require.True(t, out.Matched)
	require.NoError(t, k.Upgrade(t.Context()), "a program of the same version goes on")
	require.NotEqual(t, pid, keeperPID(t, k))
}

// A program does not read the journal of a dead keeper of another version, and leaves
// it as it is for one that does.
func TestJournalOfAnotherVersion(t *testing.T) {
	dir := newDir(t)
	path := &prockeep.Options{Path: copyOfItself(t, otherVersion)}
	k := open(t, dir, path)
	pid := keeperPID(t, k)
	req := procmgr.StartRequest{ID: "ended", Command: "exit 3", Wait: long}
	_, err := k.Start(t.Context(), req)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(parentOf(t, pid), syscall.SIGKILL))
	kill(t, pid)
	require.NoError(t, k.Close())

	_, err = prockeep.Open(t.Context(), dir, nil)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	journal := filepath.Join(dir, "journal")
	require.ErrorContains(t, err, `whose journal has version "2", and this program reads version "1"`)
	require.ErrorContains(t, err, "open the directory with a program of that version first, or remove "+journal)

	k = open(t, dir, path)
	out, err := k.Start(t.Context(), req)
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, 3, *out.Process.ExitCode)
	pid = keeperPID(t, k)
	require.NoError(t, syscall.Kill(parentOf(t, pid), syscall.SIGKILL))
	kill(t, pid)
	require.NoError(t, k.Close())
	require.NoError(t, os.Remove(journal))
	out, err = open(t, dir, nil).Start(t.Context(), req)
	require.NoError(t, err)
	require.False(t, out.Attached)
}
