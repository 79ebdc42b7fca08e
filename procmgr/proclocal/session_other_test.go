//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package proclocal_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// If this library cannot run processes on a system, New says so, and names
// the way out.
func TestNewElsewhere(t *testing.T) {
	l, err := proclocal.New(nil)
	require.ErrorContains(t, err, "processes cannot be run on "+runtime.GOOS)
	require.ErrorContains(t, err, "use a Host on another machine")
	require.Nil(t, l)
}
