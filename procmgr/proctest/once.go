package proctest

import (
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var onceCases = []testCase{
	{"attach while it runs", "an ID runs once: a Start with an ID that the chat has used, and with the same command, starts nothing and returns that process, Attached", onceRunning},
	{"attach after the exit", "an ID runs once: even after its process has exited, the same Start returns that process, Attached", onceExited},
	{"attach waits", "a Start that attaches waits and returns output like the Start that began the process", onceWaits},
	{"labels do not count", "requests with the same Command, WorkDir and Env are the same; Background, Wait and Limit do not count", onceLabels},
	{"eight at the same instant", "an ID runs once, even if several callers start it at the same instant", onceEight},
	{"conflict while it runs", "Start with a used ID and any difference fails with ErrConflict, and runs nothing", onceConflict},
	{"conflict after the exit", "Start with a used ID and any difference fails with ErrConflict, even after the exit", onceConflictExited},
	{"another ID runs again", "the same command with another ID, or with none, is another process", onceAnother},
	{"of the host itself", "an ID runs once, even if the host itself uses it and no chat does", onceHost},
}

// counted returns a request, and a function that counts its runs by a file on
// the host.
func (c *check) counted(m procmgr.Manager, then string) (req procmgr.StartRequest, runs func() int) {
	c.Helper()
	file := c.dir(m) + "/runs"
	req = procmgr.StartRequest{
		ID:      c.id(),
		Command: "echo ran >>" + quote(file) + "; " + then,
		WorkDir: "/",
		Env:     map[string]string{"A": "1", "B": "2"},
	}
	return req, func() int {
		c.Helper()
		return strings.Count(c.file(m, file), "ran\n")
	}
}

// attaches repeats a Start, and fails if that did not find the process.
func (c *check) attaches(m procmgr.Manager, req procmgr.StartRequest, first procmgr.Process) procmgr.Output {
	c.Helper()
	out, err := c.tryStart(m, req)
	if err != nil {
		c.fatalf("a second Start with the same ID and command failed: %v", err)
	}
	if !out.Attached {
		c.errorf("a second Start with the same ID and command returned a process that is not Attached")
	}
	if out.Process.ID != first.ID || out.Process.PID != first.PID || !out.Process.StartedAt.Equal(first.StartedAt) {
		c.errorf("a second Start with the same ID and command returned another process: %q, PID %d, and not %q, PID %d", out.Process.ID, out.Process.PID, first.ID, first.PID)
	}
	return out
}

func (c *check) ranOnce(runs int, what string) {
	c.Helper()
	if runs != 1 {
		c.errorf("%s with the same ID ran the command %d times", what, runs)
	}
}

func onceRunning(c *check) {
	m := c.chat("a")
	req, runs := c.counted(m, sleeps)
	first := c.beginAs(m, req)
	for range 3 {
		c.attaches(m, req, first.Process)
	}
	c.ranOnce(runs(), "several Starts")
	if c.look(m, req.ID).Attached {
		c.errorf("Output says that a process is Attached, which only Start can say")
	}
}

func onceExited(c *check) {
	m := c.chat("a")
	req, runs := c.counted(m, "echo done; exit 3")
	req.Wait = c.long
	first := c.start(m, req)
	if first.Attached {
		c.errorf("the first Start of an ID returned a process that is Attached")
	}
	for range 3 {
		began := time.Now()
		out := c.attaches(m, req, first.Process)
		c.prompt(began, "the process had exited and the wait of Start went on")
		c.exit(out.Process, 3, "", procmgr.CauseExit)
		c.text(out, "done\n")
	}
	c.ranOnce(runs(), "several Starts")
}

func onceWaits(c *check) {
	m := c.chat("a")
	in := c.dir(m) + "/in"
	req := procmgr.StartRequest{ID: c.id(), Command: puppetCommand(in)}
	p := c.puppetAt(m, in, req)
	told := make(chan error, 1)
	go func() { told <- p.tryTell("echo on; exit 4") }() // the receive below waits for it
	req.Wait = c.long
	began := time.Now()
	out, err := c.tryStart(m, req)
	if err := <-told; err != nil {
		c.fatalf("Start failed: %v", err)
	}
	if err != nil {
		c.fatalf("a Start that attaches to a running process failed: %v", err)
	}
	c.prompt(began, "the process has ended and the wait of a Start that attached went on")
	c.text(out, "ready\non\n")
	c.exit(out.Process, 4, "", procmgr.CauseExit)
}

func onceLabels(c *check) {
	m := c.chat("a")
	req, runs := c.counted(m, "echo 123456789; exec sleep 600")
	first := c.start(m, req)
	c.read(m, req.ID, procmgr.OutputRequest{Until: "9", Wait: c.long})
	req.Background, req.Wait, req.Limit.Bytes = true, time.Millisecond, 3
	out := c.attaches(m, req, first.Process)
	if out.Process.Background {
		c.errorf("a Start that attached changed the label of the process")
	}
	c.text(out, "89\n")
	req.Env = map[string]string{"B": "2", "A": "1"}
	c.attaches(m, req, first.Process)
	c.ranOnce(runs(), "several Starts")
}

func onceEight(c *check) {
	m := c.chat("a")
	for range 4 {
		req, runs := c.counted(m, "echo done; exit 5")
		req.Wait = c.long
		outs := make([]procmgr.Output, 8)
		errs := make([]error, len(outs))
		together(len(outs), func(i int) { outs[i], errs[i] = c.tryStart(m, req) })
		fresh := 0
		for i, out := range outs {
			if errs[i] != nil {
				c.fatalf("one of eight Starts with the same ID and command failed: %v", errs[i])
			}
			c.text(out, "done\n")
			c.exit(out.Process, 5, "", procmgr.CauseExit)
			if out.Process.PID != outs[0].Process.PID {
				c.errorf("eight Starts with the same ID and command returned the PIDs %d and %d", outs[0].Process.PID, out.Process.PID)
			}
			if !out.Attached {
				fresh++
			}
		}
		if fresh != 1 {
			c.errorf("of eight Starts with the same ID and command, %d say that they began the process", fresh)
		}
		c.ranOnce(runs(), "eight Starts at the same instant")
	}
}

// conflicts repeats a Start several times, each time with one change.
func (c *check) conflicts(m procmgr.Manager, base procmgr.StartRequest) {
	c.Helper()
	for _, tt := range []struct {
		what   string
		change func(*procmgr.StartRequest)
	}{
		{"another command", func(r *procmgr.StartRequest) { r.Command += " " }},
		{"another directory", func(r *procmgr.StartRequest) { r.WorkDir = "/tmp" }},
		{"no directory", func(r *procmgr.StartRequest) { r.WorkDir = "" }},
		{"another value of a variable", func(r *procmgr.StartRequest) { r.Env = map[string]string{"A": "1", "B": "3"} }},
		{"a variable more", func(r *procmgr.StartRequest) { r.Env = map[string]string{"A": "1", "B": "2", "C": ""} }},
		{"values swapped", func(r *procmgr.StartRequest) { r.Env = map[string]string{"A": "2", "B": "1"} }},
		{"no variables", func(r *procmgr.StartRequest) { r.Env = nil }},
	} {
		req := base
		tt.change(&req)
		out, err := c.tryStart(m, req)
		c.is(err, procmgr.ErrConflict, "Start with a used ID and %s", tt.what)
		if out.Process.ID != "" {
			c.errorf("Start with a used ID and %s returned the ID %q, as if it may have run something", tt.what, out.Process.ID)
		}
	}
}

func onceConflict(c *check) {
	m := c.chat("a")
	req, runs := c.counted(m, sleeps)
	c.beginAs(m, req)
	c.conflicts(m, req)
	c.runs(m, req.ID, "after a Start that was a conflict")
	c.ranOnce(runs(), "Starts with other commands and")
}

func onceConflictExited(c *check) {
	m := c.chat("a")
	req, runs := c.counted(m, "echo done")
	req.Wait = c.long
	c.start(m, req)
	c.conflicts(m, req)
	c.text(c.look(m, req.ID), "done\n")
	c.ranOnce(runs(), "Starts with other commands and")
}

func onceAnother(c *check) {
	m := c.chat("a")
	req, runs := c.counted(m, "echo done")
	req.Wait = c.long
	seen := map[string]bool{}
	for _, id := range []string{req.ID, c.id(), "", ""} {
		req.ID = id
		out := c.start(m, req)
		if out.Attached || seen[out.Process.ID] {
			c.errorf("Start with the ID %q, which was not used, returned the process %q, Attached %v", id, out.Process.ID, out.Attached)
		}
		seen[out.Process.ID] = true
		c.text(out, "done\n")
	}
	if n := runs(); n != 4 {
		c.errorf("four Starts of four processes ran the command %d times", n)
	}
}

func onceHost(c *check) {
	own, _ := c.own()
	req, runs := c.counted(own, "echo done; exit 3")
	req.Wait = c.long
	first := c.start(own, req)
	out := c.attaches(own, req, first.Process)
	c.exit(out.Process, 3, "", procmgr.CauseExit)
	c.text(out, "done\n")
	c.conflicts(own, req)
	c.ranOnce(runs(), "several Starts")
}
