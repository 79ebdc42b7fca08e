package prockeep_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/journal"
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

// A program that cannot read the state of a keeper says so before anything has
// changed, and names both versions.
func TestUpgradeIsRefusedByVersion(t *testing.T) {
	require.NoError(t, prockeep.CanFollow(`{"protocol":1,"state":2}`))
	require.NoError(t, prockeep.CanFollow(`{"protocol":1,"state":1}`))
	require.EqualError(t, prockeep.CanFollow(`{"protocol":1,"state":3}`), "the keeper's state has version 3, and this program reads version 2 and the one before it")
	require.EqualError(t, prockeep.CanFollow(`{"protocol":2,"state":2}`), "the keeper speaks protocol 2 and this program protocol 1")
}

// A journal that a program of version 1 has written is read: its lines do not tell
// when a leader began.
func TestJournalOfVersion1(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	ctx := t.Context()
	pid := keeperPID(t, k)
	_, err := k.Start(ctx, procmgr.StartRequest{ID: "lives", Command: "echo ready; read line; exit 7", Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	_, err = k.Start(ctx, procmgr.StartRequest{ID: "ended", Command: "exit 3", Wait: long})
	require.NoError(t, err)
	holder := parentOf(t, pid)
	require.NoError(t, syscall.Kill(holder, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(holder, syscall.SIGCONT) }() // it goes on already
	kill(t, pid)
	j, err := journal.Open(filepath.Join(dir, "journal"))
	require.NoError(t, err)
	lines := 0
	for _, e := range j.Found() {
		if e.Kind != journal.Note {
			old := prockeep.RecordOfVersion1(t, e.Record)
			require.False(t, bytes.Contains(old, []byte(`"start"`)))
			require.NoError(t, j.Append(e.Kind, e.Key, old))
			lines++
		}
	}
	require.Equal(t, 3, lines)
	require.NoError(t, j.Close())
	require.NoError(t, syscall.Kill(holder, syscall.SIGCONT))

	out, err := k.Output(ctx, "lives", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
	out, err = k.Start(ctx, procmgr.StartRequest{ID: "ended", Command: "exit 3"})
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, 3, *out.Process.ExitCode)
	_, err = k.Input(ctx, "lives", procmgr.InputRequest{Data: []byte("\n")})
	require.NoError(t, err)
	out, err = k.Output(ctx, "lives", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.CauseExit, out.Process.EndedBy)
	require.Equal(t, 7, *out.Process.ExitCode)
	require.NotEqual(t, pid, keeperPID(t, k))
}
