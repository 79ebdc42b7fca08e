//go:build unix

package capture

import (
	"io/fs"
	"os"
	"syscall"
)

// openNow makes an open not wait for who writes to a FIFO: what is opened may be
// anything that a command has put there.
const openNow = syscall.O_NONBLOCK

// claimLogs locks a directory until it is closed, and reports whether it could:
// another Local may have it, or may be about to remove it.
func claimLogs(dir *os.File) bool {
	return syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// claimAbandoned locks a directory whose Local is gone; nil where it lives, or
// there is no directory.
func claimAbandoned(path string) *os.File {
	dir, err := os.OpenFile(path, os.O_RDONLY|openNow, 0)
	if err != nil {
		return nil
	}
	if info, err := dir.Stat(); err != nil || !info.IsDir() || !claimLogs(dir) {
		dir.Close()
		return nil
	}
	return dir
}

// othersCanWrite reports whether somebody else can put another directory into
// the place of ours.
func othersCanWrite(info fs.FileInfo) bool {
	return info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
}
