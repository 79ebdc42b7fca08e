package interrupt

import "syscall"

// BrokenPipe is the note that a write to a pipe without a reader raises.
const BrokenPipe = syscall.Note("sys: write on closed pipe")
