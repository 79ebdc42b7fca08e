//go:build unix

package capture

import (
	"io/fs"
	"syscall"
)

// openNow makes an open return at once, even if the file is a FIFO without a
// writer: a command may have put any kind of file there.
const openNow = syscall.O_NONBLOCK

// othersCanWrite reports whether another user can put another directory in the
// place of ours.
func othersCanWrite(info fs.FileInfo) bool {
	return info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
}
