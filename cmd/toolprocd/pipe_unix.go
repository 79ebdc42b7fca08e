//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// outlivePipe makes a write to a stdout that nobody reads an error. Otherwise Go
// ends the program by SIGPIPE. The signal is caught and not ignored, since the
// keeper would inherit that.
func outlivePipe() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the channel is never read
}

// noReader reports whether a write failed because nobody reads.
func noReader(err error) bool { return errors.Is(err, syscall.EPIPE) }
