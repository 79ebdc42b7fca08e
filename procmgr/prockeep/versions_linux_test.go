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

// A keeper of a program of version 1 goes on as this one, and loses nothing; if this
// one is then killed, the next one goes on too. The way back is refused before
// anything has changed, and the error names both versions.
func TestUpgradeFromVersion1(t *testing.T) {
	dir := newDir(t)
	old := open(t, dir, &prockeep.Options{Path: copyOfItself(t, version1)})
	ctx := t.Context()
	pid := keeperPID(t, old)
	req := procmgr.StartRequest{ID: "cat", Command: "echo ready; cat; exit 4", Stdin: procmgr.StdinPipe}
	_, err := old.Start(ctx, req)
	require.NoError(t, err)
	_, err = old.Start(ctx, procmgr.StartRequest{ID: "ended", Command: "echo out; exit 3", Wait: long})
	require.NoError(t, err)
	say := func(k *prockeep.Keeper, line string) {
		t.Helper()
		out, err := k.Input(ctx, "cat", procmgr.InputRequest{Data: []byte(line + "\n"), Until: line, Wait: long})
		require.NoError(t, err)
		require.True(t, out.Matched)
	}
	say(old, "one")

	k := open(t, dir, nil)
	require.NoError(t, k.Upgrade(ctx))
	now := keeperPID(t, k)
	require.NotEqual(t, pid, now)
	say(k, "two")
	out, err := k.Output(ctx, "cat", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, "ready\none\ntwo\n", out.Text)
	out, err = k.Start(ctx, procmgr.StartRequest{ID: "ended", Command: "echo out; exit 3"})
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, "out\n", out.Text)
	require.Equal(t, 3, *out.Process.ExitCode)

	require.EqualError(t, old.Upgrade(ctx), "prockeep: upgrade: the new program cannot go on for the keeper: "+
		"the keeper's state has version 2, and this program reads version 1 and the one before it")
	require.Equal(t, now, keeperPID(t, k))
	say(k, "three")

	kill(t, now)
	out, err = k.Output(ctx, "cat", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.NotEqual(t, now, keeperPID(t, k))
	require.EqualValues(t, len("ready\none\ntwo\nthree\n"), out.Next)
	say(k, "four")
	_, err = k.Input(ctx, "cat", procmgr.InputRequest{Close: true})
	require.NoError(t, err)
	out, err = k.Output(ctx, "cat", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, 4, *out.Process.ExitCode, "the leader that version 1 has started")
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
