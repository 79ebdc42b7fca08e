//go:build unix

package scripts_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/scripts"
)

// A file in the place of a script is not opened if it is not regular. A FIFO
// would wait for a writer, and its writer would see a reader come and go.
func TestTextsOfOddFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o644))
	require.NoError(t, os.Symlink(fifo, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.sh"), []byte("x"), 0o644))
	require.NoError(t, os.Symlink("x.sh", filepath.Join(dir, "good")))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))

	for _, name := range []string{"fifo", "link", "zero", "loop"} {
		require.Empty(t, scripts.Texts(scripts.Of("./"+name), dir), name)
	}
	require.Equal(t, []string{"x"}, scripts.Texts(scripts.Of("./good"), dir))

	// The FIFO has no reader: it refuses a writer.
	_, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	require.ErrorIs(t, err, syscall.ENXIO)
}
