package proctest

import (
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var isolationCases = []testCase{
	{"of other chats", "a chat lists, reads and signals only its own processes: for a process of another chat, it gets ErrNotFound", func(c *check) { isolated(c, c.chat("b")) }},
	{"of the host", "a chat lists, reads and signals only its own processes: for a process of the host itself, it gets ErrNotFound", func(c *check) { own, _ := c.own(); isolated(c, own) }},
	{"errors tell nothing", "a chat gets the same error for the ID of another chat as for an ID that was never used", isolatedErrors},
	{"one ID in two chats", "two chats may use the same ID, each for a process of its own", isolatedSameID},
	{"the host is asked for both", "if several chats have an ID, a Host that is asked for it fails with ErrConflict and does nothing", isolatedConflict},
	{"the host sees all", "a Host reads and signals the processes of every chat", isolatedHost},
}

func isolated(c *check, owner procmgr.Manager) {
	m := c.chat("a")
	p := c.puppet(owner)
	exited := c.run(owner, "echo secret").Process.ID
	c.run(m, "true")
	for _, id := range []string{p.id, exited} {
		for _, req := range []procmgr.OutputRequest{{}, {Wait: time.Millisecond}, {Until: "."}} {
			out, err := c.tryRead(m, id, req)
			c.is(err, procmgr.ErrNotFound, "Output of a process that the chat did not start")
			if out.Text != "" || out.Process.Command != "" {
				c.errorf("Output of a process that the chat did not start returned %q: %q", out.Process.Command, out.Text)
			}
		}
		for _, sig := range []procmgr.Signal{procmgr.Interrupt, procmgr.Terminate, procmgr.Kill} {
			c.is(c.trySignal(m, id, sig), procmgr.ErrNotFound, "%s of a process that the chat did not start", sig)
		}
	}
	for _, listed := range c.list(m) {
		if listed.ID == p.id || listed.ID == exited || listed.ChatID != c.chatName("a") {
			c.errorf("List has a process that the chat did not start: %q of the chat %q", listed.ID, listed.ChatID)
		}
	}
	p.tell("echo alive; exit 3")
	out := c.ended(owner, p.id)
	c.text(out, "ready\nalive\n")
	c.exit(out.Process, 3, "", procmgr.CauseExit)
	c.text(c.look(owner, exited), "secret\n")
}

func isolatedErrors(c *check) {
	m := c.chat("a")
	never := c.id()
	// Each call that could give a hint has an ID of its own: a stop spends an
	// ID that it does not find.
	own, _ := c.own()
	theirs, ofHost := c.sleeper(c.chat("b")).Process.ID, c.run(own, "true").Process.ID
	says := func(err error, id string) string {
		if err == nil {
			return "success"
		}
		return strings.ReplaceAll(err.Error(), id, "ID")
	}
	for _, tt := range []struct {
		what string
		call func(id string) error
	}{
		{"Output", func(id string) error {
			_, err := c.tryRead(m, id, procmgr.OutputRequest{})
			return err
		}},
		{"interrupt", func(id string) error { return c.trySignal(m, id, procmgr.Interrupt) }},
		{"kill", func(id string) error { return c.trySignal(m, id, procmgr.Kill) }},
	} {
		want := says(tt.call(never), never)
		for _, id := range []string{theirs, ofHost} {
			if got := says(tt.call(id), id); got != want {
				c.errorf("%s of an ID that was never used returns %q, and of the ID of another chat %q", tt.what, want, got)
			}
		}
	}
}

func isolatedSameID(c *check) {
	id := c.id()
	a, b := c.chat("a"), c.chat("b")
	var pids []int
	own, ownChat := c.own()
	for _, tt := range []struct {
		m       procmgr.Manager
		chat    string
		command string
	}{
		{a, c.chatName("a"), sleeps},
		{b, c.chatName("b"), sleeps},
		{own, ownChat, "echo ready"}, // no other Manager reaches this one
	} {
		out, err := c.tryStart(tt.m, procmgr.StartRequest{ID: id, Command: tt.command})
		if err != nil {
			c.fatalf("Start with an ID that another chat has used failed: %v", err)
		}
		if out.Attached || slices.Contains(pids, out.Process.PID) {
			c.errorf("Start with an ID that another chat has used returned that chat's process")
		}
		if out.Process.ID != id || out.Process.ChatID != tt.chat {
			c.errorf("Start with the ID %q in the chat %q returned the process %q of the chat %q", id, tt.chat, out.Process.ID, out.Process.ChatID)
		}
		pids = append(pids, out.Process.PID)
	}
	c.signal(b, id, procmgr.Kill)
	c.exit(c.look(b, id).Process, 137, "SIGKILL", procmgr.CauseRequest)
	c.runs(a, id, "after another chat has killed its process of that ID")
	if p := c.look(a, id).Process; p.PID != pids[0] || p.ChatID != c.chatName("a") {
		c.errorf("a chat reads the process of another chat with the same ID: PID %d of the chat %q", p.PID, p.ChatID)
	}
}

func isolatedConflict(c *check) {
	a, b := c.chat("a"), c.chat("b")
	id := c.id()
	for _, m := range []procmgr.Manager{a, b} {
		c.beginAs(m, procmgr.StartRequest{ID: id, Command: sleeps})
	}
	out, err := c.tryRead(c.host, id, procmgr.OutputRequest{})
	c.is(err, procmgr.ErrConflict, "Output by the host of an ID that two chats have")
	if out.Text != "" {
		c.errorf("Output by the host of an ID that two chats have returned %q", out.Text)
	}
	for _, sig := range []procmgr.Signal{procmgr.Interrupt, procmgr.Terminate, procmgr.Kill} {
		c.is(c.trySignal(c.host, id, sig), procmgr.ErrConflict, "%s by the host of an ID that two chats have", sig)
	}
	for _, m := range []procmgr.Manager{a, b} {
		c.runs(m, id, "after the host was asked to signal an ID that two chats have")
		c.text(c.look(m, id), "ready\n")
	}
}

func isolatedHost(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	p.tell("echo for the host")
	out := c.read(c.host, p.id, procmgr.OutputRequest{From: p.end, Until: "host", Wait: c.long})
	if !out.Matched || out.Process.ChatID != c.chatName("a") {
		c.errorf("the host reads a chat's process: Matched %v, ChatID %q, output %q", out.Matched, out.Process.ChatID, out.Text)
	}
	c.signal(c.host, p.id, procmgr.Kill)
	c.exit(c.look(m, p.id).Process, 137, "SIGKILL", procmgr.CauseRequest)
}
