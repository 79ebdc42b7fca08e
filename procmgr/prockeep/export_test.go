//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
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

// MayHaveRun reports whether a child of a dead keeper that no entry of the journal
// names may have run something.
func MayHaveRun(pid, signal int, ended bool) bool {
	var p past
	p.inherit(&holder.Heritage{Generation: 1, Strays: []holder.Stray{{PID: pid, Signal: signal, Ended: ended}}})
	return p.Strays
}

// LowerDeaths sets how many keepers of a holder may die one after the other. TestMain
// calls it before Main.
func LowerDeaths(n int) { maxDeaths = n }
