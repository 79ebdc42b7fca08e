package journal_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/journal"
)

// On a full disk a line is refused, and nothing of it is left. What has happened
// already is written when there is room again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	testenv.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
	path := filepath.Join(dir, "journal")
	j := open(t, path)
	written := 0
	for {
		err := j.Append(journal.Starting, key(written), make([]byte, 900))
		if err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			break
		}
		written++
	}
	require.Positive(t, written)
	for i := range written {
		j.Tell(journal.Turned, key(i), make([]byte, 900))
	}
	require.Positive(t, j.Late())
	require.ErrorIs(t, j.Append(journal.Starting, key(written), nil), syscall.ENOSPC, "what was put off goes first")

	again := reread(t, path)
	require.False(t, again.Doubt())
	require.Len(t, again.Found(), written)

	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=1m"))
	require.NoError(t, j.Append(journal.Starting, key(written), nil))
	require.Zero(t, j.Late())
	found := reread(t, path).Found()
	require.Len(t, found, written+1)
	for _, e := range found[:written] {
		require.Equal(t, journal.Turned, e.Kind)
	}
}
