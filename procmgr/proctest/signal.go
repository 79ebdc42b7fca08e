package proctest

import (
	"errors"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var signals = []procmgr.Signal{procmgr.Terminate, procmgr.Interrupt, procmgr.Kill}

// signalCodes have the exit code of a shell that a signal ends.
var signalCodes = map[procmgr.Signal]int{procmgr.Terminate: 143, procmgr.Interrupt: 130, procmgr.Kill: 137}

var signalCases = []testCase{
	{"ends a process", "Terminate, Interrupt and Kill are SIGTERM, SIGINT and SIGKILL, from the chat as from the host; if they end a process, EndedBy is request; a stopped process is continued", func(c *check, m *view) {
		for _, command := range []string{sleeps, "echo ready; kill -STOP $$"} {
			for _, sig := range signals {
				for _, by := range []*view{m, c.host} {
					id := m.begin(command)
					by.signal(id, sig)
					out := m.look(id)
					if sig != procmgr.Kill {
						out = m.ended(id)
					}
					c.exited(out.Process, signalCodes[sig], procmgr.CauseRequest)
				}
			}
		}
	}},
	{"a handler's exit code", "if a command handles a signal and exits, its exit code counts, and EndedBy is request", func(c *check, m *view) {
		for sig, name := range map[procmgr.Signal]string{procmgr.Terminate: "TERM", procmgr.Interrupt: "INT"} {
			id := m.begin("exec 2>/dev/null; trap 'echo bye; exit 9' " + name + "; echo ready; " + naps)
			m.signal(id, sig)
			out := m.ended(id)
			c.exited(out.Process, 9, procmgr.CauseRequest)
			c.text(out, "ready\nbye\n")
		}
	}},
	{"kill reaches the whole tree", "Kill returns once nothing is left of the shell and of everything that it has started, whatever signals they ignore", func(c *check, m *view) {
		ignores := "sh -c '" + `trap "" TERM INT; sh -c "exec sleep 600" & wait; sleep 600` + "' >/dev/null 2>&1 & " + tree
		for _, command := range []string{sleeps, stubborn, ignores} {
			m.reached(command, procmgr.Kill)
		}
	}},
	{"terminate and interrupt reach the whole tree", "Terminate and Interrupt reach the shell and everything that it has started", func(_ *check, m *view) {
		m.reached(tree, procmgr.Terminate)
		m.reached(tree, procmgr.Interrupt)
	}},
	{"what has left the session", "a signal also reaches children that have left the session of their process", func(_ *check, m *view) {
		if m.run("command -v setsid").Text == "" {
			return // the host has no such command
		}
		// The child that leaves the session holds the output of its process, so that the
		// host can find it.
		for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Kill} {
			m.reached("setsid sh -c 'echo ready; exec sleep 600' & wait; sleep 600", sig)
		}
	}},
	{"after the exit", "a signal to an exited process fails with ErrNotRunning", func(c *check, m *view) {
		killed, id := m.sleeper(), m.run("exit 3").Process.ID
		m.kill(killed)
		c.is(m.trySignal(killed, procmgr.Kill), procmgr.ErrNotRunning, "a second kill")
		for _, by := range []*view{m, c.host} {
			for _, sig := range signals {
				c.is(by.trySignal(id, sig), procmgr.ErrNotRunning, "%s of a process that has exited", sig)
			}
		}
		c.result(m.look(id), 3, "")
	}},
	{"unknown process", "a signal to an ID that was never used fails with ErrNotFound, however odd the ID is", func(c *check, m *view) {
		m.run("true")
		c.is(c.host.trySignal(c.id(), procmgr.Interrupt), procmgr.ErrNotFound, "interrupt of an ID that was never used")
		for _, id := range []string{"", "a/b", "..", "a b", "a%2fb", "ä", "\x00"} {
			if err := m.trySignal(id, procmgr.Interrupt); !isOneOf(err, procmgr.ErrNotFound, procmgr.ErrInvalid) {
				c.errorf("a signal for %q, which is no ID of a process, is neither ErrNotFound nor ErrInvalid, but %s", id, told(err))
			}
		}
	}},
	{"refuses", "any signal but these three fails with ErrInvalid, and reaches nothing", func(c *check, m *view) {
		id := m.sleeper()
		for _, sig := range []procmgr.Signal{"", "SIGTERM", "TERMINATE", "term", "hangup", "9", "kill ", "-9"} {
			c.is(m.trySignal(id, sig), procmgr.ErrInvalid, "the signal %q", string(sig))
		}
		m.runs(id, "after a signal that does not exist")
		m.kill(id)
		c.exited(m.look(id).Process, 137, procmgr.CauseRequest)
	}},
	{"by several at once", "if several Kills come at the same instant, each returns once nothing of the process is left, and a wait ends with the process", func(c *check, m *view) {
		id := m.begin(stubborn)
		p := m.meanwhile(id, procmgr.OutputRequest{}, func() {
			together(4, func(int) {
				if err := m.trySignal(id, procmgr.Kill); err != nil && !errors.Is(err, procmgr.ErrNotRunning) {
					c.errorf("one of several Kills at once returned %s", told(err))
				}
				if out, err := m.tryRead(id, procmgr.OutputRequest{}); err != nil || out.Process.State != procmgr.Exited {
					c.errorf("one of several Kills at once has returned and its process is %q, the result %s", out.Process.State, told(err))
				}
			})
		}).Process
		if p.State == procmgr.Detached { // the leader's last child died a moment later
			p = m.look(id).Process
		}
		c.exited(p, 137, procmgr.CauseRequest)
	}},
	{"hits no other", "a signal reaches its own process and no other", func(c *check, m *view) {
		before, target, after, ofHost := m.puppet(), m.sleeper(), c.chat("b").puppet(), c.own().puppet()
		m.kill(target)
		for _, p := range []*puppet{before, after, ofHost} {
			p.runs(p.id, "after another process was killed")
			p.exits("exit 3", "", 3)
		}
	}},
}

// stubborn is a command that ignores Terminate and Interrupt.
const stubborn = "trap '' TERM INT; echo ready; " + naps

// naps sleeps like sleeps, but so that the shell gets a signal soon.
const naps = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); sleep 0.02; done"

// tree is a command with children and a grandchild. Some of them don't hold its output.
// Each reports to the next, so all of them run when it prints "ready". A shell without
// job control lets its background commands ignore SIGINT, so this is a pipeline in the
// foreground.
const tree = `sh -c 'echo up; exec sleep 600' |
sh -c 'sh -c "read -r up; echo up; exec sleep 600 >/dev/null 2>&1"; :' |
sh -c 'read -r up; echo ready >&2; exec sleep 600 >/dev/null 2>&1'`

// reached fails if a signal does not end a process with all its children, or if Kill
// returns before that.
func (v *view) reached(command string, sig procmgr.Signal) {
	life := v.lifeline()
	id := v.begin(life.hold() + command)
	life.watch()
	life.holds("the children of a command that runs")
	v.signal(id, sig)
	if sig == procmgr.Kill {
		v.c.exited(v.look(id).Process, 137, procmgr.CauseRequest)
	}
	life.cut("children of a process that %s was sent to", sig)
	if p := v.ended(id).Process; p.EndedBy != procmgr.CauseRequest {
		v.c.errorf("a command that %s has ended was EndedBy %q", sig, p.EndedBy)
	}
}

var lifetimeCases = []testCase{
	{"ends", "MaxLifetime ends a process that has run for so long, even if it is detached, and EndedBy is lifetime", func(c *check, m *view) {
		for _, command := range []string{sleeps, "sleep 600 & exit 3"} {
			p := m.ended(m.start(procmgr.StartRequest{Command: command, MaxLifetime: brief}).Process.ID).Process
			c.errorIf(p.EndedBy != procmgr.CauseLifetime || p.Elapsed < brief,
				"%q with a MaxLifetime of %v was ended by %q after %v", command, brief, p.EndedBy, p.Elapsed)
		}
	}},
	{"is not over", "a process runs until its MaxLifetime is over, and a Start that attaches does not change it", func(_ *check, m *view) {
		req := procmgr.StartRequest{ID: m.c.id(), Command: sleeps, MaxLifetime: time.Hour}
		first := m.beginAs(req)
		req.MaxLifetime = 1
		m.attaches(req, first.Process)
		m.runs(req.ID, "although its MaxLifetime is an hour")
	}},
}

var detachedCases = []testCase{
	{"wait ends", "if the shell exits and children of it live on, the process is detached, even if none of them holds its output, and List says so: a wait ends, the exit code is known, and nothing is killed", func(c *check, m *view) {
		life := m.lifeline()
		for _, leaves := range []string{"sleep 600 &", "(sleep 600 &);", "sh -c 'sleep 600 & exit 0';", "sleep 600 >/dev/null 2>&1 &"} {
			out := m.start(procmgr.StartRequest{Command: life.hold() + leaves + " echo left; exit 3", Wait: c.long})
			c.detached(out.Process, "3")
			c.text(out, "left\n")
			c.detached(m.look(out.Process.ID).Process, "3")
		}
		all := m.list()
		c.errorIf(len(all) != 6, "List has %d processes of six", len(all)) // two are of the lifeline
		for _, p := range all[:min(4, len(all))] {
			c.detached(p, "3")
		}
		life.watch()
		life.holds("the children that the shells had left behind")
	}},
	{"output is still collected", "after the shell has exited, the output of its children is still collected", func(c *check, m *view) {
		p := m.detachedPuppet("0")
		for _, line := range []string{"one", "two"} {
			p.tell("echo " + line)
			if out := m.until(p.id, p.end, "^"+line+"$"); out.Process.State != procmgr.Detached {
				c.errorf("the shell has exited, a child of it lives on and has printed %q, and the state is %q", line, out.Process.State)
			}
		}
		c.text(m.look(p.id), "left\none\ntwo\n")
	}},
	{"wait for the rest", "a wait for a detached process ends when nothing of it is left", func(c *check, m *view) {
		p := m.detachedPuppet("4")
		out := p.waiting(procmgr.OutputRequest{}, "echo later; exit 7")
		c.result(out, 4, "left\nlater\n")
		c.errorIf(out.Process.ExitedAt.IsZero(), "nothing is left of the process, and ExitedAt is zero")
		c.is(m.trySignal(p.id, procmgr.Kill), procmgr.ErrNotRunning, "kill of a process that was detached and has exited")
	}},
	{"output read meanwhile", "a wait of Output also ends when the process changes from running to detached", func(c *check, m *view) {
		out := m.puppet().waiting(procmgr.OutputRequest{Until: "never", State: procmgr.Running}, "sleep 600 & exit 5")
		c.detached(out.Process, "5")
		c.errorIf(out.Matched, "no line matches Until, and Matched is true")
	}},
	{"signals", "Kill and Terminate reach the children that a shell has left behind, and change no exit code", func(c *check, m *view) {
		for _, sig := range []procmgr.Signal{procmgr.Kill, procmgr.Terminate} {
			life := m.lifeline()
			id := m.run(life.hold() + "(sleep 600; :) & exit 3").Process.ID
			life.watch()
			m.signal(id, sig)
			life.cut("children that a shell had left behind and that %s was sent to", sig)
			c.exited(m.ended(id).Process, 3, procmgr.CauseRequest)
		}
	}},
	{"exit code", "the exit code is taken when the shell exits, even if children still hold its output", func(c *check, m *view) {
		p := m.run("(trap 'exit 9' TERM; " + naps + ") & kill -KILL $$").Process
		signal, cause := "SIGKILL", procmgr.CauseSignal
		if p.Signal == "" && c.host.describe().Sandbox != nil {
			signal, cause = "", procmgr.CauseExit // see exited
		}
		c.errorIf(p.State != procmgr.Detached || code(p) != "137" || p.Signal != signal || p.EndedBy != cause,
			"a signal has ended the shell, a child of it lives on, and the process is %q with the exit code %s, Signal %q, EndedBy %q", p.State, code(p), p.Signal, p.EndedBy)
		m.kill(p.ID)
		if p := m.look(p.ID).Process; code(p) != "137" || p.Signal != signal || p.State != procmgr.Exited {
			c.errorf("the child that a shell had left behind was killed, and the process has the exit code %s, Signal %q, state %q", code(p), p.Signal, p.State)
		}
	}},
}

// detached fails if a process whose shell has exited by itself is not detached.
func (c *check) detached(p procmgr.Process, wantCode string) {
	c.errorIf(p.State != procmgr.Detached || code(p) != wantCode || !p.ExitedAt.IsZero() || p.EndedBy != procmgr.CauseExit,
		"the shell has exited with code %s and children of it live on; the state is %q, the exit code %s, ExitedAt %v, EndedBy %q", wantCode, p.State, code(p), p.ExitedAt, p.EndedBy)
}

// detachedPuppet starts a puppet whose shell has exited.
func (v *view) detachedPuppet(exit string) *puppet {
	in := v.dir() + "/in"
	// The FIFO is made first. Otherwise an order would make a plain file.
	v.run("mkfifo " + quote(in))
	out := v.run("exec 3<>" + quote(in) + "\n(" + obeys + ") &\necho left; exit " + exit)
	v.c.detached(out.Process, exit)
	return &puppet{view: v, id: out.Process.ID, in: in, end: out.Next, next: out.Next}
}
