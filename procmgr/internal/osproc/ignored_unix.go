//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// An ignoring keeps commands from ignoring what this program ignores. A child
// inherits an ignored signal, also through an exec, so that nohup and the & of a
// script would make commands that no Interrupt ends. A signal with a handler is
// the default one again after an exec. So before a fork each ignored signal gets
// a handler that does nothing. To this program that is the same.
//
// SIGTTIN and SIGTTOU stay ignored. With a handler, the kernel would repeat a
// read from the terminal without end while this program is in the background.
type ignoring struct {
	mu     sync.Mutex // guards the fields below; held for moments
	starts int        // under way
	looked bool       // at all signals, not only at those that package signal knows of
	// hangups has SIGHUP and SIGINT if this program has ignored them. After
	// signal.Stop it ignores them again if it did before, and package signal knows
	// whether other code takes them meanwhile. So they have a handler only during a start,
	// and children that are no commands go on to ignore them.
	hangups []os.Signal
	// passing gets the hangups, and always all other signals. Nobody reads them.
	passing, always chan os.Signal
}

// ignores is one for all Systems, because a signal is ignored by a whole program.
var ignores = ignoring{passing: make(chan os.Signal, 1), always: make(chan os.Signal, 1)}

// maxSignal is the last signal that package signal knows everywhere.
const maxSignal syscall.Signal = 64

// begin is called before a fork, and end after the exec.
func (g *ignoring) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starts++
	for sig := syscall.Signal(1); sig <= maxSignal; sig++ {
		hangup := sig == syscall.SIGHUP || sig == syscall.SIGINT
		switch {
		case sig == syscall.SIGTTIN || sig == syscall.SIGTTOU:
		case !signal.Ignored(sig) && (g.looked && !hangup || !ignoredUnknown(sig)):
		case !hangup:
			signal.Notify(g.always, sig)
		case !slices.Contains(g.hangups, os.Signal(sig)):
			g.hangups = append(g.hangups, sig)
		}
	}
	g.looked = true
	if len(g.hangups) > 0 {
		signal.Notify(g.passing, g.hangups...)
	}
}

func (g *ignoring) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.starts--; g.starts == 0 && len(g.hangups) > 0 {
		signal.Stop(g.passing)
	}
}
