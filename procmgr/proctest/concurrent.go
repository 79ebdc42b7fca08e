package proctest

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

var concurrentCases = []testCase{
	{"many callers", "all methods are safe for concurrent use, and no caller gets the answer of another", concurrentCallers},
	{"many processes", "two dozen processes of one chat run at once, and each has its own output and exit code", concurrentProcesses},
	{"the caller's to change", "callers own the values that they get and may change them, and a method does not change its arguments", concurrentOwned},
}

func concurrentCallers(c *check) {
	together(8, func(i int) {
		name := fmt.Sprintf("chat %d", i%4)
		m := c.chat(name)
		for j := range 3 {
			word := fmt.Sprintf("%d-%d", i, j)
			out, err := c.tryStart(m, procmgr.StartRequest{Command: "echo " + word + "; exec sleep 600"})
			if err != nil {
				c.errorf("one of many Starts at once failed: %v", err)
				return
			}
			id := out.Process.ID
			out, err = c.tryRead(m, id, procmgr.OutputRequest{Until: "^" + word + "$", Wait: c.long})
			if err != nil || !out.Matched || out.Text != word+"\n" || out.Process.ID != id {
				c.errorf("one of many processes printed %q, and Output returned %q of %q, Matched %v, error %v", word+"\n", out.Text, out.Process.ID, out.Matched, err)
			}
			all, err := c.tryList(m)
			found := false
			for _, p := range all {
				found = found || p.ID == id && p.State == procmgr.Running
				if p.ChatID != c.chatName(name) {
					c.errorf("one of many Lists at once has a process of another chat")
				}
			}
			if err != nil || !found {
				c.errorf("one of many Lists at once lacks the process that was started before, error %v", err)
			}
			if err := c.trySignal(m, id, procmgr.Kill); err != nil {
				c.errorf("one of many Kills at once failed: %v", err)
			}
			out, err = c.tryRead(m, id, procmgr.OutputRequest{})
			if err != nil || out.Process.State != procmgr.Exited || out.Process.EndedBy != procmgr.CauseRequest {
				c.errorf("one of many processes was killed, and is %q, ended by %q, error %v", out.Process.State, out.Process.EndedBy, err)
			}
		}
	})
}

func concurrentProcesses(c *check) {
	const n = 24
	m := c.chat("a")
	in := c.dir(m) + "/in"
	c.run(m, "mkfifo "+quote(in))
	pids := map[int]bool{}
	all := make([]string, n)
	for i := range all {
		// All of them end when the FIFO has had a writer and then has none.
		p := c.start(m, procmgr.StartRequest{Command: fmt.Sprintf("cat %s; echo %d; exit %d", quote(in), i, i)}).Process
		all[i] = p.ID
		if p.State != procmgr.Running || pids[p.PID] {
			c.errorf("one of %d processes that run at once is %q, PID %d", n, p.State, p.PID)
		}
		pids[p.PID] = true
	}
	for _, p := range c.list(m) {
		if strings.HasPrefix(p.Command, "cat ") && p.State != procmgr.Running {
			c.errorf("one of %d processes that run at once is %q", n, p.State)
		}
	}
	// Writers come and go until every reader has seen one.
	began := time.Now()
	c.start(m, procmgr.StartRequest{Command: "while :; do : >" + quote(in) + "; sleep 0.01; done"})
	for i, id := range all {
		out := c.ended(m, id)
		c.exit(out.Process, i, "", procmgr.CauseExit)
		c.text(out, fmt.Sprintf("%d\n", i))
	}
	c.prompt(began, "two dozen processes were told to end")
}

func concurrentOwned(c *check) {
	m := c.chat("a")
	env := map[string]string{"A": "1"}
	req := procmgr.StartRequest{ID: c.id(), Command: "printf 0123456789; exit 3", Env: env, Wait: c.long}
	first := c.start(m, req)
	if !maps.Equal(env, map[string]string{"A": "1"}) {
		c.errorf("Start has changed the Env of its request to %v", env)
	}
	env["A"] = "2" // the caller may change it now: the process was started with 1
	spoil := func(p *procmgr.Process) {
		if p.ExitCode != nil {
			*p.ExitCode = 99
		}
		p.ID, p.Command, p.State = "spoiled", "spoiled", "spoiled"
	}
	intact := func(by string, p procmgr.Process) {
		c.Helper()
		if p.ID != req.ID || p.Command != req.Command || p.State != procmgr.Exited || code(p) != "3" {
			c.errorf("a caller has changed the values that it got, and %s now returns %q, %q, state %q, exit code %s", by, p.ID, p.Command, p.State, code(p))
		}
	}
	spoil(&first.Process)
	for range 2 {
		out := c.read(m, req.ID, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 5}})
		intact("Output", out.Process)
		c.sums(out, 10)
		spoil(&out.Process)
		if out.Truncated != nil {
			*out.Truncated = headtail.Truncation{}
		}
		all := c.list(m)
		if len(all) != 1 {
			c.fatalf("List has %d processes of a chat that has started one", len(all))
		}
		intact("List", all[0])
		spoil(&all[0])
	}
	env["A"] = "1"
	again := c.start(m, req)
	intact("a Start that attaches", again.Process)
	env["A"] = "2"
	_, err := c.tryStart(m, req)
	c.is(err, procmgr.ErrConflict, "Start with a used ID and a changed map")
}
