package owndir_test

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/owndir"
)

// A FIFO in the place of an abandoned directory stays, and the search does not wait for
// it.
func TestAbandonedFIFO(t *testing.T) {
	parent := t.TempDir()
	fifo := filepath.Join(parent, "own-fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.Empty(t, slices.Collect(owndir.Abandoned(parent, "own-")))
	require.FileExists(t, fifo)
}
