//go:build !plan9

package interrupt

import "syscall"

// brokenPipe is the signal that a write to a pipe without a reader raises.
const brokenPipe = syscall.SIGPIPE
