//go:build unix

package procmgr

import (
	"io/fs"
	"os"
	"syscall"
)

// claimLogs locks a directory until it is closed, and reports whether it could:
// another Local may have it, or may be about to remove it.
func claimLogs(dir *os.File) bool {
	return syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// abandoned reports whether the Local that made a directory is gone.
func abandoned(dir *os.File) bool { return claimLogs(dir) }

// othersCanWrite reports whether somebody else can put another directory into
// the place of ours.
func othersCanWrite(info fs.FileInfo) bool {
	return info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
}
