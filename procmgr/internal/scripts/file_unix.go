//go:build unix

package scripts

import "syscall"

// openNow keeps an open from waiting for a writer of a FIFO.
const openNow = syscall.O_NONBLOCK
