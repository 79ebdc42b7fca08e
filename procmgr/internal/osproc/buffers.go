//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows

package osproc

import "sync"

// pipeSize is the size in bytes of a new pipe, and of the buffer that reads from
// it.
const pipeSize = 64 << 10

// readBuffers lend out the memory to read into: it is held while there is
// output, and not by a tree that prints nothing.
var readBuffers = sync.Pool{New: func() any { return new([pipeSize]byte) }}
