package proctest

import (
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

var chatCases = []testCase{
	{"odd names", "the ID of a chat counts byte for byte: chats with different IDs are different chats", chatNames},
	{"the same twice", "Chat with the same ID returns the same chat, however often it is called", chatTwice},
	{"empty", "every call of Chat(\"\") fails with ErrInvalid: isolation fails closed", func(c *check) { chatRefused(c, "") }},
	{"control characters", "if the ID of a chat has a control character, every call fails with ErrInvalid", func(c *check) {
		for _, r := range []string{"\n", "\r\n", "\x00", "\t", "\x7f", "\u0085"} {
			chatRefused(c, "a"+r+"b")
		}
	}},
	{"not UTF-8", "if the ID of a chat is not valid UTF-8, every call fails with ErrInvalid", func(c *check) { chatRefused(c, "a\xffb") }},
	{"too long", "if the ID of a chat has over 256 bytes, every call fails with ErrInvalid", func(c *check) {
		chatRefused(c, strings.Repeat("x", 257))
		chatRefused(c, strings.Repeat("x", 100_000))
	}},
}

func chatNames(c *check) {
	long := c.mark + strings.Repeat("x", 256-len(c.mark))
	names := []string{
		"a", "A", " a", "a ", "  a", "a  ", " ",
		"%61", "%", "%00", "%20a", "a+", "a/b", "/a", "..", "a?b=c&d", "#", ";", ",", "a,b", ":", "a:b", "=",
		`"a"`, `a\b`, `a\u0062`, "'", "`id`", "$HOME", "*", "<a>", "{}", "[]", "=?utf-8?q?a?=",
		"ä", "a\u0308", "é😀", "\u2028", "\ufeff", "host", "null",
	}
	for i, name := range names {
		names[i] = c.chatName(name)
	}
	names = append(names, " "+c.mark, c.mark, c.mark+" ", "ä"+c.mark, `"`+c.mark+`"`, long, long[:255])
	id := c.id()
	for _, name := range names {
		out, err := c.tryStart(c.host.Chat(name), procmgr.StartRequest{ID: id, Command: `printf '%s' "$TOOLPROC_CHAT_ID"`, Wait: c.long})
		if err != nil {
			c.errorf("in the chat %q Start failed: %v", name, err)
			continue
		}
		if out.Attached {
			c.errorf("the first process of the chat %q is a process of another chat", name)
		}
		if out.Text != name || out.Process.ChatID != name {
			c.errorf("the chat is %q; its process sees %q, and ChatID is %q", name, out.Text, out.Process.ChatID)
		}
	}
	for _, name := range names {
		all, err := c.tryList(c.host.Chat(name))
		if err != nil || len(all) != 1 || all[0].ChatID != name {
			c.errorf("the chat %q has started one process, and its List has %d, error %v: %+v", name, len(all), err, all)
		}
		out, err := c.tryRead(c.host.Chat(name), id, procmgr.OutputRequest{})
		if err != nil || out.Text != name {
			c.errorf("the output of the chat %q is %q, error %v", name, out.Text, err)
		}
	}
}

func chatTwice(c *check) {
	first, second := c.chat("a"), c.chat("a")
	out := c.begin(first, "echo "+c.mark+"; "+sleeps)
	if again := c.look(second, out.Process.ID); again.Process.PID != out.Process.PID {
		c.errorf("one chat, asked for twice, has two processes with one ID: PID %d and %d", out.Process.PID, again.Process.PID)
	}
	if all := c.list(second); len(all) != 1 || all[0].ID != out.Process.ID {
		c.errorf("one chat, asked for twice, lists %d processes, and must list the one that it has started", len(all))
	}
	c.signal(second, out.Process.ID, procmgr.Kill)
	if state := c.look(first, out.Process.ID).Process.State; state != procmgr.Exited {
		c.errorf("one chat, asked for twice, has killed its process, which is %q", state)
	}
}

// chatRefused fails if any call of a chat with an impossible ID succeeds.
func chatRefused(c *check, name string) {
	c.Helper()
	own, _ := c.own()
	file := c.dir(own) + "/runs"
	id := c.sleeper(own).Process.ID
	m := c.host.Chat(name)
	if m == nil {
		c.fatalf("Chat(%q) returned nil, and no Manager to answer", name)
	}
	called := func(what string) string { return fmt.Sprintf("%s in the chat %.20q", what, name) }
	for _, req := range []procmgr.StartRequest{
		{Command: "echo ran >>" + quote(file), Wait: c.long},
		{ID: id, Command: sleeps},
	} {
		out, err := c.tryStart(m, req)
		c.is(err, procmgr.ErrInvalid, "%s", called("Start"))
		if out.Process.ID != "" {
			c.errorf("%s returned the process %q", called("Start"), out.Process.ID)
		}
	}
	out, err := c.tryRead(m, id, procmgr.OutputRequest{})
	c.is(err, procmgr.ErrInvalid, "%s", called("Output"))
	if out.Text != "" {
		c.errorf("%s returned %q", called("Output"), out.Text)
	}
	all, err := c.tryList(m)
	c.is(err, procmgr.ErrInvalid, "%s", called("List"))
	if len(all) > 0 {
		c.errorf("%s returned %d processes", called("List"), len(all))
	}
	for _, sig := range []procmgr.Signal{procmgr.Interrupt, procmgr.Kill} {
		c.is(c.trySignal(m, id, sig), procmgr.ErrInvalid, "%s", called(string(sig)))
	}
	c.runs(own, id, "after a chat without a usable ID has sent it signals")
	if c.file(own, file) != "" {
		c.errorf("%s ran its command", called("Start"))
	}
}
