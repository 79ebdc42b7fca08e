package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procfile"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/sandbox"
)

// openKeeper opens a keeper with a box, which is stopped at the end of the test.
func openKeeper(t *testing.T, dir string, p sandbox.Policy) *prockeep.Keeper {
	t.Helper()
	k, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Local: proclocal.Options{Sandbox: newBox(t, p)}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	return k
}

// The commands of a keeper are in a box of its own. It goes on when the keeper is
// replaced, and another box is a conflict.
func TestKeeper(t *testing.T) {
	dir, work := filepath.Join(t.TempDir(), "keeper"), t.TempDir()
	policy := sandbox.Policy{Write: []string{work}, Network: sandbox.NoNetwork}
	k := openKeeper(t, dir, policy)
	defer func() { require.NoError(t, k.Stop(t.Context())) }()
	d, err := k.Describe(t.Context())
	require.NoError(t, err)
	require.NotNil(t, d.Sandbox)
	require.Equal(t, procmgr.SandboxRules{Write: []string{work}, NoNetwork: true}, *d.Sandbox)

	inside := func(k *prockeep.Keeper) {
		_, err := k.Write(t.Context(), procfile.WriteRequest{Path: filepath.Join(work, "f"), Content: "x"})
		require.NoError(t, err)
		_, err = k.Write(t.Context(), procfile.WriteRequest{Path: filepath.Join(filepath.Dir(dir), "x"), Content: "x"})
		require.ErrorIs(t, err, procmgr.ErrRefused, "the files of a keeper have its rules")
		temp := succeeds(t, k, `echo a >'`+work+`/a' && touch "$TMPDIR/b" && printf %s "$TMPDIR"`)
		require.DirExists(t, temp)
		require.NotZero(t, *run(t, k, `touch '`+filepath.Dir(dir)+`/x'`).Process.ExitCode)
		require.Contains(t, run(t, k, `python3 -c 'import socket; socket.socket()'`).Text, "not permitted")
	}
	inside(k)
	long1, err := k.Start(t.Context(), procmgr.StartRequest{Command: "sleep 1000", Background: true})
	require.NoError(t, err)
	require.NoError(t, k.Upgrade(t.Context()))
	inside(k)
	out, err := k.Output(t.Context(), long1.Process.ID, procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
	require.NoError(t, k.Signal(t.Context(), long1.Process.ID, procmgr.Terminate))
	out, err = k.Output(t.Context(), long1.Process.ID, procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, out.Process.State)

	same := openKeeper(t, dir, policy)
	inside(same)
	none, err := prockeep.Open(t.Context(), dir, nil)
	require.NoError(t, err, "who asks for no sandbox gets that of the keeper")
	inside(none)
	require.NoError(t, none.Close())
	_, err = prockeep.Open(t.Context(), dir, &prockeep.Options{Local: proclocal.Options{Sandbox: newBox(t, sandbox.Policy{Write: []string{work}})}})
	require.ErrorIs(t, err, procmgr.ErrConflict)
}

// A leader stands before its first instruction until the keeper has written it down,
// also when a thread that may write nothing has forked it.
func TestKeeperHolds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keeper")
	k := openKeeper(t, dir, sandbox.Policy{})
	defer func() { require.NoError(t, k.Stop(t.Context())) }()
	var ids []string
	for range 50 {
		out := run(t, k, "grep NoNewPrivs /proc/self/status")
		require.Equal(t, "NoNewPrivs:\t1\n", out.Text)
		ids = append(ids, out.Process.ID)
	}
	written, err := os.ReadFile(filepath.Join(dir, "journal"))
	require.NoError(t, err)
	for _, id := range ids {
		require.Contains(t, string(written), id)
	}
	log, err := os.ReadFile(filepath.Join(dir, "keeper.log"))
	require.NoError(t, err)
	require.NotContains(t, string(log), "ERROR")
}
