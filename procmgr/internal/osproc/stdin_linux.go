package osproc

import "golang.org/x/sys/unix"

const ioctlGetTermios = unix.TCGETS

// MaxLine is how many bytes of a line a terminal takes that collects lines; it
// drops the others. See N_TTY_BUF_SIZE of the kernel.
const MaxLine = 4095
