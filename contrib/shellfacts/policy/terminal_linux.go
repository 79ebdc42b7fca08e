package policy

import "golang.org/x/sys/unix"

// flush drops what a terminal has not handed out.
func flush(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) }
