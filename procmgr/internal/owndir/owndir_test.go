package owndir_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/owndir"
)

// The directory of a living program belongs to it alone. When it has died, the
// next program may clean that directory.
func TestAbandoned(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing tells an abandoned directory here")
	}
	parent := t.TempDir()
	living, err := owndir.Make(parent, "own-", 0o700)
	require.NoError(t, err)
	dead, err := owndir.Make(parent, "own-", 0o700)
	require.NoError(t, err)
	dead.Unlock()
	require.NoError(t, os.Mkdir(filepath.Join(parent, "other"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(parent, "own-file"), nil, 0o600))
	require.NoError(t, os.Symlink("other", filepath.Join(parent, "own-link")))

	for path := range owndir.Abandoned(parent, "own-") {
		require.Equal(t, dead.Path, path)
		require.Empty(t, slices.Collect(owndir.Abandoned(parent, "own-")), "it is locked meanwhile")
	}
	require.Equal(t, []string{dead.Path}, slices.Collect(owndir.Abandoned(parent, "own-")))
	living.Unlock()
	require.ElementsMatch(t, []string{living.Path, dead.Path}, slices.Collect(owndir.Abandoned(parent, "own-")))
	require.Empty(t, slices.Collect(owndir.Abandoned(filepath.Join(parent, "no such"), "own-")))
}

func TestMake(t *testing.T) {
	parent := t.TempDir()
	d, err := owndir.Make(parent, "own-", 0o700)
	require.NoError(t, err)
	defer d.Unlock()
	require.Regexp(t, "^own-[a-z2-7]{10}$", filepath.Base(d.Path))
	info, err := os.Stat(d.Path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, fs.ModeDir|0o700, info.Mode())
	}
	_, err = owndir.Make(filepath.Join(parent, "no such"), "own-", 0o700)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
