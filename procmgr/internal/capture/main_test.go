package capture_test

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
)

// TestMain fails the run if the tests leave goroutines, children or descriptors
// behind.
func TestMain(m *testing.M) { os.Exit(leftover.Run(m, "procmgr/internal/capture")) }

// newStream returns a stream with an owner of its own.
func newStream(opts capture.Options) *capture.Stream {
	opts.Memory = new(atomic.Int64)
	opts.Grown = func() {}
	return capture.NewStream(&opts, 0)
}

// openLogs makes logs that the test closes. If the options have no bounds,
// there are none. If they name no directory, the logs are in one of the test's.
func openLogs(t testing.TB, opts capture.LogOptions) *capture.Logs {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = filepath.Join(t.TempDir(), "logs")
	}
	if opts.Max == 0 {
		opts.Max = math.MaxInt64
	}
	if opts.MaxAll == 0 {
		opts.MaxAll = math.MaxInt64
	}
	if opts.FreeOne == nil {
		opts.FreeOne = func() bool { return false }
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	logs, err := capture.OpenLogs(opts)
	require.NoError(t, err)
	t.Cleanup(logs.Close)
	return logs
}

// matched reports whether a pattern has been found.
func matched(m *capture.Matcher) bool {
	select {
	case <-m.Matched():
		return true
	default:
		return false
	}
}
