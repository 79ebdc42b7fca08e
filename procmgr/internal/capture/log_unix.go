//go:build unix

package capture

import (
	"io/fs"
	"syscall"
)

// openNow makes an open not wait for who writes to a FIFO: what is opened may be
// anything that a command has put there.
const openNow = syscall.O_NONBLOCK

// othersCanWrite reports whether somebody else can put another directory into
// the place of ours.
func othersCanWrite(info fs.FileInfo) bool {
	return info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
}
