package proctest

import (
	"errors"

	"github.com/toolproc/toolproc/procmgr"
)

var stopCases = []testCase{
	{"terminate before the start", "Terminate of an ID that the chat has not used fails with ErrNotFound and spends the ID: a Start that arrives later fails with ErrConflict and runs nothing", func(c *check) { stopSpends(c, c.chat("a"), procmgr.Terminate) }},
	{"kill before the start", "Kill of an ID that the chat has not used fails with ErrNotFound and spends the ID: a Start that arrives later fails with ErrConflict and runs nothing", func(c *check) { stopSpends(c, c.chat("a"), procmgr.Kill) }},
	{"of the host itself", "a stop of an unused ID spends the ID, even if the host itself is asked", func(c *check) { own, _ := c.own(); stopSpends(c, own, procmgr.Terminate) }},
	{"interrupt before the start", "Interrupt of an ID that the chat has not used fails with ErrNotFound, and leaves the ID unused", stopInterrupt},
	{"one chat's alone", "a stop spends an ID in its own chat and in no other", stopOwnChat},
	{"in a race", "the start that a stop is meant for cannot overtake it: when both have returned, nothing runs", stopRace},
}

func stopSpends(c *check, m procmgr.Manager, sig procmgr.Signal) {
	req, runs := c.counted(m, "echo done")
	req.Wait = c.long
	for range 2 {
		c.is(c.trySignal(m, req.ID, sig), procmgr.ErrNotFound, "%s of an ID that was never used", sig)
	}
	for range 2 {
		out, err := c.tryStart(m, req)
		c.is(err, procmgr.ErrConflict, "Start with an ID that %s had spent", sig)
		if out.Process.ID != "" {
			c.errorf("Start with an ID that %s had spent returned the ID %q, as if it may have run something", sig, out.Process.ID)
		}
	}
	if n := runs(); n != 0 {
		c.errorf("Start with an ID that %s had spent ran its command", sig)
	}
	_, err := c.tryRead(m, req.ID, procmgr.OutputRequest{})
	c.is(err, procmgr.ErrNotFound, "Output of an ID that was spent and never had a process")
}

func stopInterrupt(c *check) {
	m := c.chat("a")
	req, runs := c.counted(m, "echo done")
	req.Wait = c.long
	c.is(c.trySignal(m, req.ID, procmgr.Interrupt), procmgr.ErrNotFound, "interrupt of an ID that was never used")
	if _, err := c.tryStart(m, req); err != nil {
		c.errorf("Start with an ID that was only interrupted before failed: %v", err)
	}
	c.ranOnce(runs(), "interrupt, then Start")
}

func stopOwnChat(c *check) {
	a, b := c.chat("a"), c.chat("b")
	id := c.id()
	c.is(c.trySignal(a, id, procmgr.Terminate), procmgr.ErrNotFound, "terminate of an ID that was never used")
	out, err := c.tryStart(b, procmgr.StartRequest{ID: id, Command: sleeps})
	if err != nil {
		c.fatalf("Start with an ID that another chat had spent failed: %v", err)
	}
	c.is(c.trySignal(a, id, procmgr.Kill), procmgr.ErrNotFound, "kill of another chat's ID")
	c.runs(b, out.Process.ID, "after another chat had killed that ID")
	_, err = c.tryStart(a, procmgr.StartRequest{ID: id, Command: sleeps})
	c.is(err, procmgr.ErrConflict, "Start with an ID that the chat itself had spent")
}

func stopRace(c *check) {
	m := c.chat("a")
	life := c.lifeline(m)
	for i := range 8 {
		id := c.id()
		var startErr, stopErr error
		together(2, func(j int) {
			if j == i%2 {
				_, startErr = c.tryStart(m, procmgr.StartRequest{ID: id, Command: life.hold() + "exec sleep 600"})
			} else {
				stopErr = c.trySignal(m, id, procmgr.Kill)
			}
		})
		switch {
		case errors.Is(startErr, procmgr.ErrConflict) && errors.Is(stopErr, procmgr.ErrNotFound):
			_, err := c.tryRead(m, id, procmgr.OutputRequest{})
			c.is(err, procmgr.ErrNotFound, "Output of an ID whose Start was a conflict")
		case startErr == nil && stopErr == nil:
			if p := c.look(m, id).Process; p.State != procmgr.Exited || p.EndedBy != procmgr.CauseRequest {
				c.errorf("Start and Kill of one ID at the same instant succeeded, and the process is %q, ended by %q", p.State, p.EndedBy)
			}
		default:
			c.errorf("Start and Kill of one ID at the same instant returned %s and %s: either the process is killed, or the Start is a conflict and the Kill finds no process",
				told(startErr), told(stopErr))
		}
	}
	for _, p := range c.list(m) {
		if p.State != procmgr.Exited {
			c.errorf("the process %q is %q after Start and Kill of it have returned", p.ID, p.State)
		}
	}
	if c.failed() {
		return
	}
	// No other process may hold the FIFO.
	holder := c.begin(m, life.hold()+sleeps).Process.ID
	life.watch()
	c.signal(m, holder, procmgr.Kill)
	life.cut("processes whose Start and Kill had both returned")
}
