package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// long is a wait that a test reaches only if something is wrong.
const long = 2 * time.Minute

// newBox returns a box that the test closes.
func newBox(t testing.TB, p sandbox.Policy) *sandbox.Box {
	t.Helper()
	box, err := sandbox.New(p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Close()) })
	return box
}

// newLocal returns a Local whose commands are in a box.
func newLocal(t testing.TB, box proclocal.Sandbox) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(&proclocal.Options{Sandbox: box})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// run runs a command to its end.
func run(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	out, err := m.Start(t.Context(), procmgr.StartRequest{Command: command, Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, out.Process.State)
	return out
}

// succeeds runs a command that exits with 0, and returns what it has printed.
func succeeds(t testing.TB, m procmgr.Manager, command string) string {
	t.Helper()
	out := run(t, m, command)
	require.Zero(t, *out.Process.ExitCode, "%s: %s", command, out.Text)
	return out.Text
}

// Commands write below Write and in TMPDIR, and nowhere else; the program itself
// still does.
func TestWrite(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	box := newBox(t, sandbox.Policy{Write: []string{in, filepath.Join(in, ".")}})
	require.Equal(t, []string{in}, box.Rules().Write)
	l := newLocal(t, box)
	succeeds(t, l, `echo a >'`+in+`/a' && mkdir -p '`+in+`/b/c' && mv '`+in+`/a' '`+in+`/b/c' && echo b >"$(mktemp)" && echo c >/dev/null`)
	require.Contains(t, run(t, l, `echo a >'`+out+`/a'`).Text, "Permission denied")
	require.NoFileExists(t, filepath.Join(out, "a"))
	require.NoError(t, os.WriteFile(filepath.Join(out, "a"), nil, 0o600))
	temp := succeeds(t, l, `printf %s "$TMPDIR"`)
	require.DirExists(t, temp)
	require.NoError(t, box.Close())
	require.NoDirExists(t, temp)
	_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrClosed)
}

// What the level cannot enforce, and what is not there, is an error of New.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, test := range map[string]struct {
		policy sandbox.Policy
		want   error
		names  string
	}{
		"Protect":        {sandbox.Policy{Write: []string{dir}, Protect: []string{file}}, errors.ErrUnsupported, "Protect"},
		"Hide":           {sandbox.Policy{Hide: []string{file}}, errors.ErrUnsupported, "Hide"},
		"missing":        {sandbox.Policy{Write: []string{dir + "/none"}}, procmgr.ErrInvalid, "none"},
		"missing hidden": {sandbox.Policy{Hide: []string{dir + "/none"}, Level: sandbox.Boundary}, procmgr.ErrInvalid, "none"},
		"a file":         {sandbox.Policy{Write: []string{file}}, procmgr.ErrInvalid, "not a directory"},
		"empty":          {sandbox.Policy{Write: []string{""}}, procmgr.ErrInvalid, "empty"},
		"level":          {sandbox.Policy{Level: 7}, procmgr.ErrInvalid, "Level 7"},
		"network":        {sandbox.Policy{Network: 7}, procmgr.ErrInvalid, "Network 7"},
		"/proc":          {sandbox.Policy{Write: []string{"/proc/sys"}, Level: sandbox.Boundary}, procmgr.ErrInvalid, "/proc"},
		"/dev":           {sandbox.Policy{Write: []string{"/dev/shm"}, Level: sandbox.Boundary}, procmgr.ErrInvalid, "/dev"},
		"all hidden":     {sandbox.Policy{Hide: []string{"/"}, Level: sandbox.Boundary}, procmgr.ErrInvalid, "no command runs"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.policy.Level == sandbox.Boundary {
				programs(t, "bwrap", "nsenter")
			}
			_, err := sandbox.New(test.policy)
			require.ErrorIs(t, err, test.want)
			require.ErrorContains(t, err, test.names)
		})
	}
}

// If the host has recreated a directory, the rules apply to the new one. If it has
// replaced it with a link, nothing is started.
func TestMadeAnew(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "work")
	require.NoError(t, os.Mkdir(dir, 0o700))
	l := newLocal(t, newBox(t, sandbox.Policy{Write: []string{dir}}))
	succeeds(t, l, `echo a >'`+dir+`/a'`)
	require.NoError(t, os.Rename(dir, dir+".old"))
	_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, dir)
	require.NoError(t, os.Mkdir(dir, 0o700))
	succeeds(t, l, `echo b >'`+dir+`/b'`)
	require.NotZero(t, *run(t, l, `echo b >'`+dir+`.old/b'`).Process.ExitCode)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Symlink(dir+".old", dir))
	_, err = l.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}
