//go:build unix

package scripts

import "syscall"

// openNow makes an open not wait for who writes to a FIFO.
const openNow = syscall.O_NONBLOCK
