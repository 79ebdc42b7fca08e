//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package screen

import "io"

// newVT returns no emulator: on this system there is no terminal, and the
// emulator's library need not build on it. A screen without one is stale.
func newVT(int, int, io.Writer) emulator { return nil }
