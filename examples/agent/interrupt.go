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
// being stopped, Ctrl-C ends the agent. An interrupter is safe for concurrent
// use.
type interrupter struct {
	end context.CancelFunc // ends the agent

	mu      sync.Mutex // guards the fields below
	running map[int]context.CancelFunc
	last    int  // key in running
	stopped bool // the calls of this step are to be stopped
}

// watch handles signals until the returned function is called. That function
// waits for the goroutine. Every other signal that would end the program ends
// the agent, so that nothing is left running.
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
	if len(i.running) == 0 || i.stopped {
		i.end()
		return
	}
	i.stopped = true
	for _, stop := range i.running {
		stop()
	}
}

// step begins a step of the model.
func (i *interrupter) step() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stopped = false
}

// command returns a context for one call of the step, and a function to call
// when the call is done. If earlier calls of the step were stopped, this call
// is stopped too: it was to follow them.
func (i *interrupter) command(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped {
		cancel()
	}
	if i.running == nil {
		i.running = make(map[int]context.CancelFunc)
	}
	i.last++
	key := i.last
	i.running[key] = cancel
	return ctx, func() {
		cancel()
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.running, key)
	}
}
