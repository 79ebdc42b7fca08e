//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows

package osproc

import "sync"

// pipeSize is the size in bytes of a new pipe, and of the buffer that reads
// from it.
const pipeSize = 64 << 10

// readBuffers lends the memory for a read. A tree that prints nothing holds
// none.
var readBuffers = sync.Pool{New: func() any { return new([pipeSize]byte) }}
