package interrupt

import "syscall"

// brokenPipe is the note that a write to a pipe without a reader raises.
const brokenPipe = syscall.Note("sys: write on closed pipe")
