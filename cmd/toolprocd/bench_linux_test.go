package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A start that waits for its end, through toolprocd stdio and a keeper, and in
// this process, in turns.
func BenchmarkStdio(b *testing.B) {
	local, err := proclocal.New(&proclocal.Options{LogDir: b.TempDir()})
	require.NoError(b, err)
	defer func() { require.NoError(b, local.Close()) }()
	far := newMachine(b).client(b)
	start := func(h procmgr.Host) func() {
		return func() {
			_, err := h.Start(b.Context(), procmgr.StartRequest{Command: "true", Wait: long})
			require.NoError(b, err)
		}
	}
	beside.Run(b, start(far), start(local))
}
