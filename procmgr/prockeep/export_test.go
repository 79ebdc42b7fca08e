//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// These are constants of the package.
const (
	MaxDirectory = maxDirectory
	MaxLog       = maxLog
)

// OpenLog opens the log of a keeper.
func OpenLog(t *testing.T, path string) io.Writer {
	t.Helper()
	f, err := openLog(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return newKeeperLog(path, f, int(f.Fd()))
}
