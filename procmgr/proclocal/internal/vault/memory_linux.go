package vault

import (
	"os"

	"golang.org/x/sys/unix"
)

// memory returns a file in memory with some bytes.
func memory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("secrets", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "secrets")
	if _, err := file.Write(data); err != nil {
		_ = file.Close() // it is in memory
		return nil, err
	}
	return file, nil
}
