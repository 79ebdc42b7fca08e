package procfile

import (
	"errors"
	"os"
	"syscall"
)

const noWait = 0

// The errors of Windows that package syscall has no names for.
const (
	errWriteProtect syscall.Errno = 19
	errDiskFull     syscall.Errno = 112
	errHandleFull   syscall.Errno = 39
	errNameTooLong  syscall.Errno = 206
)

func isNotDir(err error) bool   { return errors.Is(err, syscall.ENOTDIR) }
func isReadOnly(err error) bool { return errors.Is(err, errWriteProtect) }
func isTooLong(err error) bool  { return errors.Is(err, errNameTooLong) }
func isBusy(error) bool         { return false }

func isFull(err error) bool { return errors.Is(err, errDiskFull) || errors.Is(err, errHandleFull) }

// keepOwner does nothing: the new file has the owner of new files.
func keepOwner(*os.File, os.FileInfo) error { return nil }
