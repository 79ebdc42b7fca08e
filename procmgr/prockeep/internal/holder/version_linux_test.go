package holder_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
)

// The error of a holder of another version names both versions, and says what to do.
func TestOtherVersion(t *testing.T) {
	require.NoError(t, holder.CheckVersion(holder.Version))
	require.EqualError(t, holder.CheckVersion(7), "the holder speaks version 7 of its protocol, and this program version 1: "+
		"upgrade the keeper with a program of its version, or stop it, which ends its processes")
}
