package proctest

import (
	"errors"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var onceCases = []testCase{
	{"while it runs", "an ID runs once: a Start with an ID that the chat has used starts nothing; with the same command it returns that process, Attached, and with any difference it fails with ErrConflict", func(c *check, m *view) { ranOnce(c, m, sleeps) }},
	{"after the exit", "an ID runs once, even after its process has exited: the same Start returns that process, Attached, and another one fails with ErrConflict", func(c *check, m *view) { ranOnce(c, m, "echo ready; exit 3") }},
	{"of the host itself", "an ID runs once, even if the host itself uses it and no chat does", func(c *check, _ *view) { ranOnce(c, c.own(), "echo ready; exit 3") }},
	{"attach waits", "a Start that attaches waits and returns output like the Start that began the process", onceWaits},
	{"labels do not count", "requests with the same Command, WorkDir and Env are the same; Background, Wait and Limit do not count", func(c *check, m *view) {
		req, runs := m.counted("echo 123456789; exec sleep 600")
		first := m.start(req)
		m.until(req.ID, 0, "9")
		req.Background, req.Wait, req.Limit.Bytes = true, time.Millisecond, 3
		out := m.attaches(req, first.Process)
		c.errorIf(out.Process.Background, "a Start that attached changed the label of the process")
		c.text(out, "89\n")
		req.Env = map[string]string{"B": "2", "A": "1"}
		m.attaches(req, first.Process)
		runs(1, "several Starts with the same ID")
	}},
	{"eight at the same instant", "an ID runs once, even if several callers start it at the same instant", onceEight},
}

// counted returns a request, and a function that fails if it did not run so often, by a
// file on the host.
func (v *view) counted(then string) (req procmgr.StartRequest, runs func(want int, what string)) {
	file := v.dir() + "/runs"
	req = procmgr.StartRequest{
		ID: v.c.id(), Command: "echo ran >>" + quote(file) + "; " + then, WorkDir: "/", Env: map[string]string{"A": "1", "B": "2"},
	}
	return req, func(want int, what string) {
		if n := strings.Count(v.file(file), "ran\n"); n != want {
			v.c.errorf("%s ran the command %d times, and not %d", what, n, want)
		}
	}
}

// attaches repeats a Start, and fails if that did not find the process.
func (v *view) attaches(req procmgr.StartRequest, first procmgr.Process) procmgr.Output {
	out, err := v.tryStart(req)
	v.c.fatalIf(err != nil, "a second Start with the same ID and command failed: %s", told(err))
	v.c.errorIf(!out.Attached, "a second Start with the same ID and command returned a process that is not Attached")
	v.c.errorIf(out.Process.ID != first.ID || out.Process.PID != first.PID || !out.Process.StartedAt.Equal(first.StartedAt),
		"a second Start with the same ID and command returned another process: %q, PID %d, and not %q, PID %d", out.Process.ID, out.Process.PID, first.ID, first.PID)
	return out
}

// ranOnce starts a command, and then its ID again and again.
func ranOnce(c *check, m *view, command string) {
	req, runs := m.counted(command)
	first := m.beginAs(req)
	c.errorIf(first.Attached, "Output says that a process is Attached, which only Start can say")
	if command != sleeps {
		first = m.ended(req.ID)
		req.Wait = c.long
	}
	for range 3 {
		out := m.attaches(req, first.Process)
		c.errorIf(out.Process.State != first.Process.State || code(out.Process) != code(first.Process) || out.Text != "ready\n",
			"a process is %s with the exit code %s, and a Start that attaches to it returned the state %s, exit code %s, output %s",
			first.Process.State, code(first.Process), out.Process.State, code(out.Process), excerpt(out.Text))
	}
	m.conflicts(req)
	out := m.look(req.ID)
	c.errorIf(out.Process.State != first.Process.State, "after a Start that was a conflict, the process is %s", out.Process.State)
	c.text(out, "ready\n")
	runs(1, "several Starts with the same ID")
}

func onceWaits(c *check, m *view) {
	p := m.puppet()
	req := p.req
	req.Wait = c.long
	answer := later(func() (procmgr.Output, error) { return m.tryStart(req) })
	p.tell("echo on; exit 4")
	out, err := answer()
	c.fatalIf(err != nil, "a Start that attaches to a running process, which then exits, failed: %s", told(err))
	c.result(out, 4, "ready\non\n")
}

func onceEight(c *check, m *view) {
	for range 4 {
		req, runs := m.counted("echo done; exit 5")
		req.Wait = c.long
		var outs [8]procmgr.Output
		var errs [8]error
		together(len(outs), func(i int) { outs[i], errs[i] = m.tryStart(req) })
		fresh := 0
		for i, out := range outs {
			if errs[i] != nil {
				c.fatalf("one of eight Starts with the same ID and command failed: %s", told(errs[i]))
			}
			c.result(out, 5, "done\n")
			if out.Process.PID != outs[0].Process.PID {
				c.errorf("eight Starts with the same ID and command returned the PIDs %d and %d", outs[0].Process.PID, out.Process.PID)
			}
			if !out.Attached {
				fresh++
			}
		}
		c.errorIf(fresh != 1, "of eight Starts with the same ID and command, %d say that they began the process", fresh)
		runs(1, "eight Starts with the same ID at the same instant")
	}
}

// conflicts repeats a Start several times, each time with one change.
func (v *view) conflicts(base procmgr.StartRequest) {
	for what, change := range map[string]func(*procmgr.StartRequest){
		"another command":             func(r *procmgr.StartRequest) { r.Command += " " },
		"another directory":           func(r *procmgr.StartRequest) { r.WorkDir = "/tmp" },
		"no directory":                func(r *procmgr.StartRequest) { r.WorkDir = "" },
		"another value of a variable": func(r *procmgr.StartRequest) { r.Env = map[string]string{"A": "1", "B": "3"} },
		"a variable more":             func(r *procmgr.StartRequest) { r.Env = map[string]string{"A": "1", "B": "2", "C": ""} },
		"values swapped":              func(r *procmgr.StartRequest) { r.Env = map[string]string{"A": "2", "B": "1"} },
		"no variables":                func(r *procmgr.StartRequest) { r.Env = nil },
	} {
		req := base
		change(&req)
		v.refuses(req, procmgr.ErrConflict, "Start with a used ID and %s", what)
	}
}

// before is an Age that no host has, however long it has been up.
const before = 100 * 365 * 24 * time.Hour

var ageCases = []testCase{
	{"more than the host's", "Start of an ID that the host does not know, and that is older than the host, fails with ErrUnknown, runs nothing and leaves the ID unused; with a smaller Age it runs, and then Age does not count", func(c *check, m *view) {
		req, runs := m.counted("echo done")
		req.Age = before
		c.is(errOf(m.tryStart(req)), procmgr.ErrUnknown, "Start with an Age of 100 years")
		runs(0, "a Start with an Age of 100 years")
		req.Age = 1
		first := m.runAs(req)
		req.Age = before
		m.attaches(req, first.Process)
		m.conflicts(req)
		runs(1, "Starts with the same ID, the first one with an Age of 1 ns")
	}},
	{"of a forgotten ID", "Start of an ID that the host has forgotten, and that is older than what it remembers, runs nothing", ageForgotten},
}

// ageForgotten spends an ID, and others for a while: more than a Local remembers, unless
// the host is far away. Whether the ID is still known or not, its start is refused.
func ageForgotten(c *check, m *view) {
	const callers, each, most = 8, 2200, time.Second
	req, runs := m.counted("echo done")
	began := time.Now()
	c.is(m.trySignal(req.ID, procmgr.Terminate), procmgr.ErrNotFound, "terminate of an ID that was never used")
	together(callers, func(int) {
		for range each {
			if time.Since(began) > most || c.ctx.Err() != nil {
				return
			}
			_ = m.trySignal(c.id(), procmgr.Terminate)
		}
	})
	req.Age = time.Since(began)
	if _, err := m.tryStart(req); !isOneOf(err, procmgr.ErrConflict, procmgr.ErrUnknown) {
		c.errorf("Start with an ID that was spent before many others had to fail with ErrConflict or ErrUnknown, and the result is %s", told(err))
	}
	runs(0, "Start with an ID that was spent before many others")
}

var stopCases = []testCase{
	{"before the start", "Terminate or Kill of an ID that the chat has not used fails with ErrNotFound and spends the ID: a Start that arrives later fails with ErrConflict and runs nothing", func(c *check, m *view) { stopSpends(c, m) }},
	{"of the host itself", "a stop of an unused ID spends the ID, even if the host itself is asked", func(c *check, _ *view) { stopSpends(c, c.own()) }},
	{"interrupt before the start", "Interrupt of an ID that the chat has not used fails with ErrNotFound, and leaves the ID unused", func(c *check, m *view) {
		req, runs := m.counted("echo done")
		c.is(m.trySignal(req.ID, procmgr.Interrupt), procmgr.ErrNotFound, "interrupt of an ID that was never used")
		m.runAs(req)
		runs(1, "Start with an ID that was only interrupted before")
	}},
	{"one chat's alone", "a stop spends an ID in its own chat and in no other", func(c *check, m *view) {
		id, other := c.id(), c.chat("b")
		c.is(m.trySignal(id, procmgr.Terminate), procmgr.ErrNotFound, "terminate of an ID that was never used")
		if _, err := other.tryStart(procmgr.StartRequest{ID: id, Command: sleeps}); err != nil {
			c.fatalf("Start with an ID that another chat had spent failed: %s", told(err))
		}
		c.is(m.trySignal(id, procmgr.Kill), procmgr.ErrNotFound, "kill of another chat's ID")
		other.runs(id, "after another chat had killed that ID")
		c.is(errOf(m.tryStart(procmgr.StartRequest{ID: id, Command: sleeps})), procmgr.ErrConflict, "Start with an ID that the chat itself had spent")
	}},
	{"in a race", "the start that a stop is meant for cannot overtake it: when both have returned, nothing runs", stopRace},
}

func stopSpends(c *check, m *view) {
	for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Kill} {
		req, runs := m.counted("echo done")
		req.Wait = c.long
		for range 2 {
			c.is(m.trySignal(req.ID, sig), procmgr.ErrNotFound, "%s of an ID that was never used", sig)
		}
		for range 2 {
			m.refuses(req, procmgr.ErrConflict, "Start with an ID that %s had spent", sig)
		}
		runs(0, "Start with an ID that "+string(sig)+" had spent")
		c.is(errOf(m.tryRead(req.ID, procmgr.OutputRequest{})), procmgr.ErrNotFound, "Output of an ID that was spent and never had a process")
	}
}

func stopRace(c *check, m *view) {
	life := m.lifeline()
	for i := range 8 {
		id := c.id()
		var startErr, stopErr error
		together(2, func(j int) {
			if j == i%2 {
				_, startErr = m.tryStart(procmgr.StartRequest{ID: id, Command: life.hold() + "exec sleep 600"})
			} else {
				stopErr = m.trySignal(id, procmgr.Kill)
			}
		})
		switch {
		case errors.Is(startErr, procmgr.ErrConflict) && errors.Is(stopErr, procmgr.ErrNotFound):
			c.is(errOf(m.tryRead(id, procmgr.OutputRequest{})), procmgr.ErrNotFound, "Output of an ID whose Start was a conflict")
		case startErr == nil && stopErr == nil:
			if p := m.look(id).Process; p.State != procmgr.Exited || p.EndedBy != procmgr.CauseRequest {
				c.errorf("Start and Kill of one ID at the same instant succeeded, and the process is %q, ended by %q", p.State, p.EndedBy)
			}
		default:
			c.errorf("Start and Kill of one ID at the same instant returned %s and %s: either the process is killed, or the Start is a conflict and the Kill finds no process", told(startErr), told(stopErr))
		}
	}
	for _, p := range m.list() {
		c.errorIf(p.State != procmgr.Exited, "the process %q is %q after Start and Kill of it have returned", p.ID, p.State)
	}
	c.endIfFailed()
	// No other process may hold the FIFO.
	holder := m.begin(life.hold() + sleeps)
	life.watch()
	m.kill(holder)
	life.cut("processes whose Start and Kill had both returned")
}
