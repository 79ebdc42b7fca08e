package procstat_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

func TestLook(t *testing.T) {
	own, ok := procstat.Look(os.Getpid())
	require.True(t, ok)
	require.False(t, own.Ended())
	require.Equal(t, os.Getppid(), own.Parent)
	require.Equal(t, syscall.Getpgrp(), own.Group)
	_, ok = procstat.Look(1 << 30)
	require.False(t, ok)

	// The name may have spaces and parentheses.
	require.NoError(t, os.WriteFile("/proc/self/comm", []byte("a) Z 1 ("), 0o600))
	again, ok := procstat.Look(os.Getpid())
	require.True(t, ok)
	require.Equal(t, own.Group, again.Group)
	require.False(t, again.Ended())
}
