package proctest

import (
	"errors"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var signalCases = []testCase{
	{"ends a process", "Terminate, Interrupt and Kill are SIGTERM, SIGINT and SIGKILL; if they end a process, EndedBy is request", signalEnds},
	{"a handler's exit code", "if a command handles a signal and exits, its exit code counts, and EndedBy is request", signalHandled},
	{"kill returns when nothing is left", "Kill returns once nothing of the process is left, whatever signals it ignores", signalKill},
	{"kill ends what is stopped", "Kill ends a stopped process", func(c *check) { signalStopped(c, procmgr.Kill, 137, "SIGKILL") }},
	{"terminate ends what is stopped", "Terminate ends a stopped process: it continues the process", func(c *check) { signalStopped(c, procmgr.Terminate, 143, "SIGTERM") }},
	{"interrupt ends what is stopped", "Interrupt ends a stopped process: it continues the process", func(c *check) { signalStopped(c, procmgr.Interrupt, 130, "SIGINT") }},
	{"terminate reaches the whole tree", "Terminate reaches the shell and everything that it has started", func(c *check) { signalTree(c, procmgr.Terminate) }},
	{"interrupt reaches the whole tree", "Interrupt reaches the shell and everything that it has started", func(c *check) { signalTree(c, procmgr.Interrupt) }},
	{"kill reaches the whole tree", "Kill ends the shell and everything that it has started, even if it ignores the other signals", signalKillTree},
	{"what has left the session", "a signal also reaches children that have left the session of their process", signalEscaped},
	{"after the exit", "a signal to an exited process fails with ErrNotRunning", signalExited},
	{"unknown process", "a signal to an ID that was never used fails with ErrNotFound", signalUnknown},
	{"refuses", "any signal but these three fails with ErrInvalid, and reaches nothing", signalRefuses},
	{"by several at once", "if several Kills come at the same instant, each returns once nothing of the process is left, and a wait ends with the process", signalSeveral},
	{"hits no other", "a signal reaches its own process and no other", signalOthers},
}

func signalEnds(c *check) {
	m := c.chat("a")
	for _, tt := range []struct {
		sig    procmgr.Signal
		code   int
		signal string
	}{{procmgr.Terminate, 143, "SIGTERM"}, {procmgr.Interrupt, 130, "SIGINT"}, {procmgr.Kill, 137, "SIGKILL"}} {
		for _, by := range []procmgr.Manager{m, c.host} {
			id := c.sleeper(m).Process.ID
			c.signal(by, id, tt.sig)
			c.exit(c.ended(m, id).Process, tt.code, tt.signal, procmgr.CauseRequest)
		}
	}
}

func signalHandled(c *check) {
	m := c.chat("a")
	for _, tt := range []struct {
		sig  procmgr.Signal
		name string
	}{{procmgr.Terminate, "TERM"}, {procmgr.Interrupt, "INT"}} {
		id := c.begin(m, "exec 2>/dev/null; trap 'echo bye; exit 9' "+tt.name+"; echo ready; while :; do sleep 0.02; done").Process.ID
		c.signal(m, id, tt.sig)
		out := c.ended(m, id)
		c.exit(out.Process, 9, "", procmgr.CauseRequest)
		c.text(out, "ready\nbye\n")
	}
}

// stubborn is a command that ignores Terminate and Interrupt.
const stubborn = "trap '' TERM INT; echo ready; while :; do sleep 0.02; done"

func signalKill(c *check) {
	m := c.chat("a")
	for _, command := range []string{sleeps, stubborn} {
		life := c.lifeline(m)
		id := c.begin(m, life.hold()+command).Process.ID
		life.watch()
		c.signal(m, id, procmgr.Kill)
		c.exit(c.look(m, id).Process, 137, "SIGKILL", procmgr.CauseRequest)
		life.cut("processes whose Kill had returned")
	}
}

func signalStopped(c *check, sig procmgr.Signal, code int, name string) {
	m := c.chat("a")
	id := c.begin(m, "echo ready; kill -STOP $$").Process.ID
	c.signal(m, id, sig)
	out := c.look(m, id)
	if sig != procmgr.Kill {
		out = c.ended(m, id)
	}
	c.exit(out.Process, code, name, procmgr.CauseRequest)
}

// tree is a command with children and a grandchild, some of which hold none of
// its output. Each reports to the next, so all of them run when it prints
// "ready". A shell without job control lets its background commands ignore
// SIGINT, so this is a pipeline in the foreground.
const tree = `sh -c 'echo up; exec sleep 600' |
sh -c 'sh -c "read -r up; echo up; exec sleep 600 >/dev/null 2>&1"; :' |
sh -c 'read -r up; echo ready >&2; exec sleep 600 >/dev/null 2>&1'`

func signalTree(c *check, sig procmgr.Signal) {
	m := c.chat("a")
	life := c.lifeline(m)
	id := c.begin(m, life.hold()+tree).Process.ID
	life.watch()
	life.holds("the children of a command that runs")
	c.signal(m, id, sig)
	out := c.ended(m, id)
	if out.Process.EndedBy != procmgr.CauseRequest {
		c.errorf("a command that %s has ended was EndedBy %q", sig, out.Process.EndedBy)
	}
	life.cut("children of a process that " + string(sig) + " has ended")
}

func signalKillTree(c *check) {
	m := c.chat("a")
	life := c.lifeline(m)
	id := c.begin(m, life.hold()+"sh -c '"+`trap "" TERM INT; sh -c "exec sleep 600" & wait; sleep 600`+"' >/dev/null 2>&1 & "+tree).Process.ID
	life.watch()
	c.signal(m, id, procmgr.Kill)
	if state := c.look(m, id).Process.State; state != procmgr.Exited {
		c.errorf("Kill has returned, and its process is %q", state)
	}
	life.cut("children of a process whose Kill had returned")
}

func signalEscaped(c *check) {
	m := c.chat("a")
	if c.run(m, "command -v setsid").Text == "" {
		return // the host has no such command
	}
	for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Kill} {
		life := c.lifeline(m)
		// The child that leaves the session holds the output of its process, so
		// that the host can find it.
		id := c.begin(m, life.hold()+"setsid sh -c 'echo ready; exec sleep 600' & wait; sleep 600").Process.ID
		life.watch()
		c.signal(m, id, sig)
		c.ended(m, id)
		life.cut("children that had left the session of a process that " + string(sig) + " has ended")
	}
}

func signalExited(c *check) {
	m := c.chat("a")
	id := c.run(m, "exit 3").Process.ID
	for _, by := range []procmgr.Manager{m, c.host} {
		for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Interrupt, procmgr.Kill} {
			c.is(c.trySignal(by, id, sig), procmgr.ErrNotRunning, "%s of a process that has exited", sig)
		}
	}
	c.exit(c.look(m, id).Process, 3, "", procmgr.CauseExit)

	id = c.sleeper(m).Process.ID
	c.signal(m, id, procmgr.Kill)
	c.is(c.trySignal(m, id, procmgr.Kill), procmgr.ErrNotRunning, "a second kill")
}

func signalUnknown(c *check) {
	m := c.chat("a")
	c.run(m, "true")
	for _, by := range []procmgr.Manager{m, c.host} {
		for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Interrupt, procmgr.Kill} {
			c.is(c.trySignal(by, c.id(), sig), procmgr.ErrNotFound, "%s of an ID that was never used", sig)
		}
	}
	for _, id := range []string{"", "a/b", "..", "a b", "a%2fb", "ä", "\x00"} {
		err := c.trySignal(m, id, procmgr.Interrupt)
		if !isOneOf(err, procmgr.ErrNotFound, procmgr.ErrInvalid) {
			c.errorf("a signal for %q, which is no ID of a process, is neither ErrNotFound nor ErrInvalid, but %s", id, told(err))
		}
	}
}

func signalRefuses(c *check) {
	m := c.chat("a")
	id := c.sleeper(m).Process.ID
	for _, sig := range []procmgr.Signal{"", "SIGTERM", "TERMINATE", "term", "hangup", "9", "kill ", "-9"} {
		c.is(c.trySignal(m, id, sig), procmgr.ErrInvalid, "the signal %q", string(sig))
	}
	c.runs(m, id, "after a signal that does not exist")
	c.signal(m, id, procmgr.Kill)
	c.exit(c.look(m, id).Process, 137, "SIGKILL", procmgr.CauseRequest)
}

func signalSeveral(c *check) {
	m := c.chat("a")
	id := c.begin(m, stubborn).Process.ID
	began := time.Now()
	answers := c.reading(c.ctx, m, id, procmgr.OutputRequest{Wait: c.long})
	together(4, func(int) {
		if err := c.trySignal(m, id, procmgr.Kill); err != nil && !errors.Is(err, procmgr.ErrNotRunning) {
			c.errorf("one of several Kills at once returned %s", told(err))
		}
		out, err := c.tryRead(m, id, procmgr.OutputRequest{})
		if err != nil || out.Process.State != procmgr.Exited {
			c.errorf("one of several Kills at once has returned and its process is %q, error %v", out.Process.State, err)
		}
	})
	process := c.of(answers).Process
	c.prompt(began, "the process was killed and the wait went on")
	if process.State == procmgr.Detached { // the leader's last child died a moment later
		process = c.look(m, id).Process
	}
	c.exit(process, 137, "SIGKILL", procmgr.CauseRequest)
}

func signalOthers(c *check) {
	m, other := c.chat("a"), c.chat("b")
	before, target, after := c.puppet(m), c.sleeper(m).Process.ID, c.puppet(other)
	own, _ := c.own()
	ofHost := c.puppet(own)
	c.signal(m, target, procmgr.Kill)
	for _, p := range []*puppet{before, after, ofHost} {
		c.runs(p.m, p.id, "after another process was killed")
		p.tell("exit 3")
		c.exit(c.ended(p.m, p.id).Process, 3, "", procmgr.CauseExit)
	}
}
