package procfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const noWait = 0

// The errors of Windows that package syscall has no names for.
const (
	errWriteProtect syscall.Errno = 19
	errDiskFull     syscall.Errno = 112
	errHandleFull   syscall.Errno = 39
	errSharing      syscall.Errno = 32
)

func isNotDir(err error) bool   { return errors.Is(err, syscall.ENOTDIR) }
func isReadOnly(err error) bool { return errors.Is(err, errWriteProtect) }
func isBusy(error) bool         { return false }

func isFull(err error) bool { return errors.Is(err, errDiskFull) || errors.Is(err, errHandleFull) }

// keepOwner does nothing: the new file has the owner of new files.
func keepOwner(*os.File, os.FileInfo) error { return nil }

// links knows of no further names.
func links(os.FileInfo) uint64 { return 1 }

// renameTime is how long a rename is tried.
const renameTime = 2 * time.Second

// rename retries while the file is open anywhere, because Windows then does not allow its
// name to be taken.
func rename(root *os.Root, from, to string) error {
	for began, pause := time.Now(), time.Millisecond; ; pause *= 2 {
		err := root.Rename(from, to)
		if !errors.Is(err, syscall.ERROR_ACCESS_DENIED) && !errors.Is(err, errSharing) || time.Since(began) > renameTime {
			return err
		}
		time.Sleep(pause)
	}
}
