package proctest

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var detachedCases = []testCase{
	{"wait ends", "if the shell exits and children of it live on, the process is detached: a wait ends, the exit code is known, and nothing is killed", detachedWait},
	{"without the output", "a process is detached even if none of the children that live on holds its output", detachedSilent},
	{"output is still collected", "after the shell has exited, the output of its children is still collected", detachedOutput},
	{"wait for the rest", "a wait for a detached process ends when nothing of it is left", detachedExit},
	{"output read meanwhile", "a wait of Output also ends when the process changes from running to detached", detachedChange},
	{"listed", "List has detached processes, with the state detached", detachedListed},
	{"kill", "Kill reaches the children that a shell has left behind, and changes no exit code", func(c *check) { detachedSignal(c, procmgr.Kill) }},
	{"terminate", "Terminate reaches the children that a shell has left behind, and changes no exit code", func(c *check) { detachedSignal(c, procmgr.Terminate) }},
	{"exit code", "the exit code is taken when the shell exits, even if children still hold its output", detachedCode},
}

// isDetached fails if a process is not detached.
func (c *check) isDetached(p procmgr.Process, wantCode string) {
	c.Helper()
	if p.State != procmgr.Detached {
		c.errorf("the shell has exited and children of it live on, and the state is %q, not %q", p.State, procmgr.Detached)
	}
	if code(p) != wantCode {
		c.errorf("the shell has exited with code %s, and the exit code is %s", wantCode, code(p))
	}
	if !p.ExitedAt.IsZero() {
		c.errorf("a detached process has not exited, and ExitedAt is %v", p.ExitedAt)
	}
	if p.EndedBy != procmgr.CauseExit {
		c.errorf("the shell has exited by itself, and EndedBy is %q", p.EndedBy)
	}
}

func detachedWait(c *check) {
	m := c.chat("a")
	life := c.lifeline(m)
	for _, command := range []string{
		life.hold() + "sleep 600 & echo left; exit 3",
		life.hold() + "(sleep 600 &); echo left; exit 3",
		life.hold() + "sh -c 'sleep 600 & exit 0'; echo left; exit 3",
	} {
		began := time.Now()
		out := c.start(m, procmgr.StartRequest{Command: command, Wait: c.long})
		c.prompt(began, "the shell has exited and the wait of Start went on")
		c.isDetached(out.Process, "3")
		c.text(out, "left\n")
	}
	life.watch()
	life.holds("the children that the shells had left behind")
}

func detachedSilent(c *check) {
	m := c.chat("a")
	life := c.lifeline(m)
	began := time.Now()
	out := c.start(m, procmgr.StartRequest{Command: life.hold() + "sleep 600 >/dev/null 2>&1 & exit 3", Wait: c.long})
	c.prompt(began, "the shell has exited and the wait of Start went on")
	c.isDetached(out.Process, "3")
	life.watch()
	life.holds("the children that the shell had left behind")
	c.isDetached(c.look(m, out.Process.ID).Process, "3")
}

// detachedPuppet starts a puppet whose shell has exited.
func (c *check) detachedPuppet(m procmgr.Manager, exit string) *puppet {
	c.Helper()
	in := c.dir(m) + "/in"
	// The FIFO is made first. Otherwise an order would make a plain file.
	c.run(m, "mkfifo "+quote(in))
	out := c.start(m, procmgr.StartRequest{
		Command: "exec 3<>" + quote(in) + "\n(while IFS= read -r order <&3; do eval \"$order\"; done) &\necho left; exit " + exit,
		Wait:    c.long,
	})
	c.isDetached(out.Process, exit)
	return &puppet{c: c, m: m, id: out.Process.ID, in: in, end: out.Next}
}

func detachedOutput(c *check) {
	m := c.chat("a")
	p := c.detachedPuppet(m, "0")
	for _, line := range []string{"one", "two"} {
		p.tell("echo " + line)
		out := c.read(m, p.id, procmgr.OutputRequest{From: p.end, Until: "^" + line + "$", Wait: c.long})
		if !out.Matched || out.Process.State != procmgr.Detached {
			c.errorf("after the shell has exited, a child of it printed %q, and Matched is %v, state %q, output %q", line, out.Matched, out.Process.State, out.Text)
		}
	}
	c.text(c.look(m, p.id), "left\none\ntwo\n")
}

func detachedExit(c *check) {
	m := c.chat("a")
	p := c.detachedPuppet(m, "4")
	began := time.Now()
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{Wait: c.long})
	p.tell("echo later; exit 7")
	out := c.of(answers)
	c.prompt(began, "nothing is left of the process and the wait went on")
	c.exit(out.Process, 4, "", procmgr.CauseExit)
	c.text(out, "left\nlater\n")
	if out.Process.ExitedAt.IsZero() {
		c.errorf("nothing is left of the process, and ExitedAt is zero")
	}
	c.is(c.trySignal(m, p.id, procmgr.Kill), procmgr.ErrNotRunning, "kill of a process that was detached and has exited")
}

func detachedChange(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	began := time.Now()
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{Wait: c.long, Until: "never"})
	p.tell("sleep 600 & exit 5")
	out := c.of(answers)
	c.prompt(began, "the process has become detached and the wait went on")
	c.isDetached(out.Process, "5")
	if out.Matched {
		c.errorf("no line matches Until, and Matched is true")
	}
}

func detachedListed(c *check) {
	m := c.chat("a")
	p := c.run(m, "sleep 600 & exit 3").Process
	all := c.list(m)
	if len(all) != 1 || all[0].ID != p.ID {
		c.fatalf("List has %d processes of a chat that has one, which is detached", len(all))
	}
	c.isDetached(all[0], "3")
}

func detachedSignal(c *check, sig procmgr.Signal) {
	m := c.chat("a")
	life := c.lifeline(m)
	id := c.run(m, life.hold()+"(sleep 600; :) & exit 3").Process.ID
	life.watch()
	c.signal(m, id, sig)
	c.exit(c.ended(m, id).Process, 3, "", procmgr.CauseRequest)
	life.cut("children that a shell had left behind and that " + string(sig) + " was sent to")
}

func detachedCode(c *check) {
	m := c.chat("a")
	p := c.run(m, "(trap 'exit 9' TERM; while :; do sleep 0.02; done) & kill -KILL $$").Process
	signal, cause := "SIGKILL", procmgr.CauseSignal
	if p.Signal == "" && c.describe(c.host).Sandbox != nil {
		signal, cause = "", procmgr.CauseExit // see exit
	}
	if p.State != procmgr.Detached || code(p) != "137" || p.Signal != signal || p.EndedBy != cause {
		c.errorf("a signal has ended the shell, a child of it lives on, and the process is %q with the exit code %s, Signal %q, EndedBy %q", p.State, code(p), p.Signal, p.EndedBy)
	}
	c.signal(m, p.ID, procmgr.Kill)
	if p := c.look(m, p.ID).Process; code(p) != "137" || p.Signal != signal || p.State != procmgr.Exited {
		c.errorf("the child that a shell had left behind was killed, and the process has the exit code %s, Signal %q, state %q", code(p), p.Signal, p.State)
	}
}
