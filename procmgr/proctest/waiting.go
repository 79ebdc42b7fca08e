package proctest

import (
	"fmt"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// mayTell is how long a host that can tell has for that.
const mayTell = 3 * time.Second

// waits waits until a host says that a process waits for input. A host that cannot tell
// never does.
func (c *check) waits(m procmgr.Manager, id string) *procmgr.Waiting {
	c.Helper()
	for began := time.Now(); time.Since(began) < mayTell; {
		if out := c.read(m, id, procmgr.OutputRequest{}); out.Waiting != nil {
			return out.Waiting
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

func inputWaiting(c *check) {
	m := c.chat("a")
	id, ok := c.opened(m, procmgr.StdinPipe, `echo first; read -r x; echo second; read -r x; exec sleep 600`)
	if !ok || c.waits(m, id) == nil {
		return
	}
	began := time.Now()
	out := c.read(m, id, procmgr.OutputRequest{Wait: c.long, UntilWaiting: true})
	c.prompt(began, "a process waits for input, and a wait with UntilWaiting went on")
	c.asks(out)
	began = time.Now()
	written := c.input(m, id, procmgr.InputRequest{Data: []byte("x\n"), Wait: c.long, UntilWaiting: true})
	c.prompt(began, "a process has read its input and waits for the next, and an Input with UntilWaiting went on")
	c.asks(written.Output)
	c.text(written.Output, "second\n")
	for _, p := range c.list(m) {
		if p.ID == id && (p.Waiting == nil || written.Waiting == nil || p.Waiting.PID != written.Waiting.PID) {
			c.errorf("the process %q waits for input, and in the list Waiting is %+v", id, p.Waiting)
		}
	}
	if c.tellsEvents(m) {
		var kinds []procmgr.EventKind
		for _, e := range c.events(m, procmgr.EventsRequest{}).Events {
			kinds = append(kinds, e.Kind)
			if e.Kind == procmgr.EventWaiting && e.Process.Waiting == nil {
				c.errorf("an event says that the process %q waits for input, and its Waiting is nil", id)
			}
		}
		want := []procmgr.EventKind{procmgr.EventStarted, procmgr.EventWaiting, procmgr.EventWaiting}
		if fmt.Sprint(kinds) != fmt.Sprint(want) {
			c.errorf("a process has begun to wait for input twice, and the events are %q", kinds)
		}
	}
	began = time.Now()
	started, err := c.tryStart(m, procmgr.StartRequest{Command: "read -r x", Stdin: procmgr.StdinPipe, Wait: c.long, UntilWaiting: true})
	if err != nil {
		c.fatalf("Start with UntilWaiting failed: %v", err)
	}
	c.prompt(began, "a process waits for input, and a Start with UntilWaiting went on")
	c.asks(started)
}

// asks fails if an answer does not say that a process waits for input.
func (c *check) asks(out procmgr.Output) {
	c.Helper()
	if w := out.Waiting; w == nil || w.PID <= 0 || w.Since.IsZero() || w.Secret {
		c.errorf("the process %q waits for input, and Waiting is %+v", out.Process.ID, w)
	}
}

func inputNotWaiting(c *check) {
	m := c.chat("a")
	for _, req := range []procmgr.StartRequest{
		{Command: "echo 'Overwrite? [y/N] '; exec sleep 600"},
		{Command: "echo 'Overwrite? [y/N] '; exec sleep 600", Stdin: procmgr.StdinPipe},
		{Command: "echo 'Overwrite? [y/N] '; sleep 600 | cat", Stdin: procmgr.StdinPipe},
	} {
		var id string
		if req.Stdin == procmgr.StdinEmpty {
			out, err := c.tryStart(m, req)
			if id = out.Process.ID; err != nil {
				c.fatalf("Start failed: %v", err)
			}
		} else if opened, ok := c.openedAs(m, req); ok {
			id = opened
		} else {
			return
		}
		out := c.read(m, id, procmgr.OutputRequest{Wait: time.Second, UntilWaiting: true})
		if out.Waiting != nil {
			c.errorf("%q with the stdin %q does not wait for input, and Waiting is %+v", req.Command, req.Stdin, out.Waiting)
		}
		for _, p := range c.list(m) {
			if p.ID == id && p.Waiting != nil {
				c.errorf("%q with the stdin %q does not wait for input, and in the list Waiting is %+v", req.Command, req.Stdin, p.Waiting)
			}
		}
	}
}
