//go:build linux

package sandbox_test

import (
	"testing"

	"github.com/toolproc/toolproc/contrib/sandbox"
)

// BenchmarkBoundary runs a command with Boundary, and one without a box.
func BenchmarkBoundary(b *testing.B) {
	ours := newBoundary(b, sandbox.Policy{Write: []string{visibleDir(b)}, Network: sandbox.NoNetwork})
	theirs := newLocal(b, nil)
	compare(b, func() { succeeds(b, ours, "true") }, func() { succeeds(b, theirs, "true") })
}
