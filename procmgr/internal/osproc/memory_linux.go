package osproc

import (
	"os"

	"golang.org/x/sys/unix"
)

// Memory returns a file that is in memory alone.
func Memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
