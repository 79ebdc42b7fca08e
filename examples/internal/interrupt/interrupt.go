// Package interrupt handles Ctrl-C, and the other signals that end a program, for
// the examples.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Context returns a context that ends with the first signal that would end this
// program: Ctrl-C, or the end of the terminal. Commands do not get the Ctrl-C of the
// terminal, and without this a signal would end the program before its deferred Close.
// A write to a pipe without a reader fails, as in "program | head", and does not end
// the program either.
func Context() (context.Context, context.CancelFunc) {
	signal.Notify(make(chan os.Signal, 1), BrokenPipe) // it may come of any connection
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// A Handler handles Ctrl-C. If commands run, Ctrl-C stops them, and the model
// reads about it. If no command runs, or if the commands are already being
// stopped, Ctrl-C ends the agent. A Handler is safe for concurrent use.
type Handler struct {
	End context.CancelFunc // ends the agent

	mu      sync.Mutex // guards the fields below
	running map[int]context.CancelFunc
	last    int  // key in running
	stopped bool // the calls of this step are to be stopped
}

// Watch handles signals until the returned function is called. That function
// waits for the goroutine. Every other signal that would end the program ends
// the agent, so that nothing is left running.
func (h *Handler) Watch() (unwatch func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, BrokenPipe)
	var watching sync.WaitGroup
	watching.Go(func() {
		for s := range signals {
			switch s {
			case os.Interrupt:
				h.Interrupt()
			case BrokenPipe:
				// The signal may come from a broken connection, which is retried. If
				// stdout has no reader, the write returns an error.
			default:
				h.End()
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(signals)
		watching.Wait()
	}
}

// Interrupt is what Ctrl-C does.
func (h *Handler) Interrupt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.running) == 0 || h.stopped {
		h.End()
		return
	}
	h.stopped = true
	for _, stop := range h.running {
		stop()
	}
}

// Step begins a step of the model.
func (h *Handler) Step() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = false
}

// Command returns a context for one call of the step, and a function to call
// when the call is done. If earlier calls of the step were stopped, this call
// is stopped too: it was to follow them.
func (h *Handler) Command(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		cancel()
	}
	if h.running == nil {
		h.running = make(map[int]context.CancelFunc)
	}
	h.last++
	key := h.last
	h.running[key] = cancel
	return ctx, func() {
		cancel()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.running, key)
	}
}
