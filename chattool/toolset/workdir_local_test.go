//go:build linux || darwin || freebsd

package toolset_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A configured directory that has gone is no secret from the model.
func TestWorkDirOfLocal(t *testing.T) {
	own, home := t.TempDir(), t.TempDir()
	gone := filepath.Join(own, "gone")
	t.Chdir(own)
	t.Setenv("HOME", home)
	manager, err := proclocal.New(&proclocal.Options{WorkDir: func() string { return gone }})
	require.NoError(t, err)
	defer func() { require.NoError(t, manager.Close()) }()
	set := toolset.New(toolset.Static(manager.Chat("a")), nil)
	pwd := func(workdir string) map[string]any {
		return contents(t, set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(arguments(t, "command", "pwd -P", "workdir", workdir))}))
	}
	first := pwd("")
	require.Equal(t, own+"\n", first["output"])
	require.Equal(t, own, first["workdir"])
	require.Contains(t, first["note"], "The working directory is "+own+": the one that was set up cannot be used (no such directory: "+gone+").")
	again := pwd("")
	require.NotContains(t, again, "workdir")
	require.NotContains(t, again, "note")
	there := pwd("~")
	require.Equal(t, home+"\n", there["output"])
	require.Equal(t, home, there["workdir"])
	require.NotContains(t, there, "note")
	refused := pwd("~/gone")
	require.Equal(t, "nothing was started: no such directory: "+filepath.Join(home, "gone")+"; name one that exists and can be entered", refused["error"])
	require.Equal(t, own, pwd("")["workdir"])
}
