//go:build linux

package sockets

// Kernel and Text are the two ways to read the sockets of a network namespace.
var (
	Kernel = func(pid int) (map[uint32]Listen, error) { return askKernel(pid, true) }
	Text   = readTables
)
