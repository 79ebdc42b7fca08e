//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import "os"

// fdOf returns the descriptor of a file. Its Fd method would make it one that
// blocks, for everybody who has it.
func fdOf(f *os.File) (fd int) {
	fd = -1
	raw, err := f.SyscallConn()
	if err == nil {
		_ = raw.Control(func(n uintptr) { fd = int(n) }) // it fails only if the file is closed
	}
	return fd
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // it may be closed already
	}
}
