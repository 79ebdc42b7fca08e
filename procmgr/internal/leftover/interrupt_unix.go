//go:build unix

package leftover

import (
	"os"
	"os/signal"
)

// hearInterrupt has commands start with the default action for SIGINT. A script
// that starts the tests with & has them ignore it, and so would every command.
func hearInterrupt() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
}
