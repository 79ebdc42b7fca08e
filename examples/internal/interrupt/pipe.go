//go:build !plan9

package interrupt

import "syscall"

// BrokenPipe is the signal that a write to a pipe without a reader raises.
const BrokenPipe = syscall.SIGPIPE
