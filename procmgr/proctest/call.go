package proctest

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// errHung is the error of a call that does not return.
var errHung = errors.New("the call does not return")

// bounded runs one call of the host that may wait for c.long. It returns when
// the call returns, or gives up after 3*c.long. In that case the goroutine
// stays until the host returns.
func (c *check) bounded(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	over := time.NewTimer(3 * c.long)
	defer over.Stop()
	select {
	case err := <-done:
		return err
	case <-over.C:
		return xerrors.Errorf("it may wait for %v at most, and after %v: %w", c.long, 3*c.long, errHung)
	}
}

func (c *check) tryStartIn(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
	var out procmgr.Output // a call that was given up does not touch it
	err := c.bounded(func() error {
		got, err := m.Start(ctx, req)
		if id := got.Process.ID; id != "" || req.ID != "" {
			if id == "" {
				id = req.ID
			}
			c.mu.Lock()
			c.begun = append(c.begun, started{m, id})
			c.mu.Unlock()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		out = got
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return out, err
}

func (c *check) tryStart(m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
	return c.tryStartIn(c.ctx, m, req)
}

func (c *check) start(m procmgr.Manager, req procmgr.StartRequest) procmgr.Output {
	c.Helper()
	out, err := c.tryStart(m, req)
	if err != nil {
		c.fatalf("Start of %.100q failed: %v", req.Command, err)
	}
	return out
}

// run starts a command and waits until it ends or is detached.
func (c *check) run(m procmgr.Manager, command string) procmgr.Output {
	c.Helper()
	return c.runAs(m, procmgr.StartRequest{Command: command})
}

// runAs is run with a full request.
func (c *check) runAs(m procmgr.Manager, req procmgr.StartRequest) procmgr.Output {
	c.Helper()
	req.Wait = c.long
	out := c.start(m, req)
	if out.Process.State == procmgr.Running {
		c.fatalf("Start of %.100q returned while the process %q still runs: a wait of %v ends when the command ends", req.Command, out.Process.ID, c.long)
	}
	return out
}

// begin starts a command and waits until it has printed the line "ready".
func (c *check) begin(m procmgr.Manager, command string) procmgr.Output {
	c.Helper()
	return c.beginAs(m, procmgr.StartRequest{Command: command})
}

// beginAs is begin with a full request.
func (c *check) beginAs(m procmgr.Manager, req procmgr.StartRequest) procmgr.Output {
	c.Helper()
	req.Wait = 0
	id := c.start(m, req).Process.ID
	out := c.read(m, id, procmgr.OutputRequest{Until: "^ready$", Wait: c.long})
	if !out.Matched {
		c.fatalf("waiting with Until for the line \"ready\" of %.100q ended without a match; state %s, output %.200q", req.Command, out.Process.State, out.Text)
	}
	return out
}

// sleeper starts a process that runs until it is ended.
func (c *check) sleeper(m procmgr.Manager) procmgr.Output {
	c.Helper()
	return c.begin(m, sleeps)
}

// sleeps is the command of a sleeper. It does not sleep for ever, so that it
// ends at last even if the host cannot end it.
const sleeps = "echo ready; exec sleep 600"

func (c *check) tryReadIn(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	var out procmgr.Output
	err := c.bounded(func() error {
		got, err := m.Output(ctx, id, req)
		c.mu.Lock()
		defer c.mu.Unlock()
		out = got
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return out, err
}

func (c *check) tryRead(m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return c.tryReadIn(c.ctx, m, id, req)
}

func (c *check) read(m procmgr.Manager, id string, req procmgr.OutputRequest) procmgr.Output {
	c.Helper()
	out, err := c.tryRead(m, id, req)
	if err != nil {
		c.fatalf("Output of the process %q failed: %v", id, err)
	}
	return out
}

// look reads without a wait.
func (c *check) look(m procmgr.Manager, id string) procmgr.Output {
	c.Helper()
	return c.read(m, id, procmgr.OutputRequest{})
}

// ended waits until nothing of a process is left.
func (c *check) ended(m procmgr.Manager, id string) procmgr.Output {
	c.Helper()
	began := time.Now()
	for {
		out := c.read(m, id, procmgr.OutputRequest{Wait: c.long})
		if out.Process.State == procmgr.Exited {
			return out
		}
		if time.Since(began) >= c.long {
			c.fatalf("the process %q is still %s after %v: it had to end", id, out.Process.State, time.Since(began))
		}
	}
}

func (c *check) tryPage(m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
	var page procmgr.ListPage // not touched by a call that was given up
	err := c.bounded(func() error {
		got, err := m.List(c.ctx, req)
		c.mu.Lock()
		defer c.mu.Unlock()
		page = got
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return page, err
}

func (c *check) tryList(m procmgr.Manager) ([]procmgr.Process, error) {
	page, err := c.tryPage(m, procmgr.ListRequest{})
	return page.Processes, err
}

func (c *check) list(m procmgr.Manager) []procmgr.Process {
	c.Helper()
	all, err := c.tryList(m)
	if err != nil {
		c.fatalf("List failed: %v", err)
	}
	return all
}

func (c *check) trySignalIn(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
	return c.bounded(func() error { return m.Signal(ctx, id, sig) })
}

func (c *check) trySignal(m procmgr.Manager, id string, sig procmgr.Signal) error {
	return c.trySignalIn(c.ctx, m, id, sig)
}

func (c *check) signal(m procmgr.Manager, id string, sig procmgr.Signal) {
	c.Helper()
	if err := c.trySignal(m, id, sig); err != nil {
		c.fatalf("Signal %s of the process %q failed: %v", sig, id, err)
	}
}

// eventually waits for a condition that no call waits for.
func (c *check) eventually(what string, f func() bool) {
	c.Helper()
	for began, pause := time.Now(), time.Millisecond; !f(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Since(began) >= c.long {
			c.fatalf("after %[2]v it is not true %[1]s", what, c.long)
		}
		time.Sleep(pause)
	}
}

// together calls f with 0 to n-1 at the same instant, and returns when all
// calls have returned. These calls may not end the case.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			f(i)
		})
	}
	done.Wait()
}
