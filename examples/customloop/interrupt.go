package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// An interrupter handles Ctrl-C. If commands run, Ctrl-C stops them, and the
// model reads about it. If no command runs, or if the commands are already
// being stopped, Ctrl-C ends the loop. An interrupter is safe for concurrent
// use.
type interrupter struct {
	end context.CancelFunc // ends the loop

	mu   sync.Mutex // guards stop
	stop context.CancelFunc
}

// watch handles signals until the returned function is called. That function
// waits for the goroutine. Every other signal that would end the program ends
// the loop, so that nothing is left running.
func (i *interrupter) watch() (unwatch func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, brokenPipe)
	var watching sync.WaitGroup
	watching.Go(func() {
		for s := range signals {
			switch s {
			case os.Interrupt:
				i.interrupt()
			case brokenPipe:
				// It may come of a connection that broke, which is tried again.
				// Whoever prints finds out by the error that nobody reads.
			default:
				i.end()
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(signals)
		watching.Wait()
	}
}

func (i *interrupter) interrupt() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop == nil {
		i.end()
		return
	}
	i.stop()
	i.stop = nil
}

// commands returns a context for the commands of one answer, and a function to
// call when they are done.
func (i *interrupter) commands(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	i.set(cancel)
	return ctx, func() {
		i.set(nil)
		cancel()
	}
}

func (i *interrupter) set(stop context.CancelFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stop = stop
}
