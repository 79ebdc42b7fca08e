// Package interrupt handles the signals that end a program, for the examples.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Context returns a context that ends with the first of the given signals, or when the
// terminal or the system ends this program. Commands do not get the Ctrl-C of the
// terminal, and without this a signal would end the program before its deferred Close.
// A write to a pipe without a reader fails, as in "program | head", and does not end
// the program either.
func Context(signals ...os.Signal) (context.Context, context.CancelFunc) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // it may come of any connection
	return signal.NotifyContext(context.Background(), slices.Concat(signals, []os.Signal{syscall.SIGTERM, syscall.SIGHUP})...)
}
