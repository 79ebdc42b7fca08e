//go:build unix

package prochttp

import (
	"os"
	"os/signal"
	"syscall"
)

// outlivePipes makes a write to a stdout or stderr that nobody reads an error.
// Otherwise Go ends the program by SIGPIPE. The signal is caught and not
// ignored, since other children would inherit that.
func outlivePipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the channel is never read
}
