//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// outlivePipe makes a write to a stdout without a reader an error, where Go would
// otherwise end the program by SIGPIPE. The signal is caught rather than ignored
// because the keeper would inherit an ignored signal.
func outlivePipe() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the channel is never read
}

// noReader reports whether a write failed because the pipe has no reader.
func noReader(err error) bool { return errors.Is(err, syscall.EPIPE) }
