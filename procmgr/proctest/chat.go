package proctest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

var listCases = []testCase{
	{"order and states", "List has the processes that a request asks for: those that live first, then those of the background, and within each kind the newest first, each once, however often its Start was repeated, with its state and the time of its start", listOrder},
	{"the host's", "List of a Host has the processes of every chat and its own, each with its chat", func(c *check, m *view) {
		want, order := map[string]string{}, []string(nil)
		for _, v := range []*view{m, c.own(), c.chat("b"), m} {
			id := v.run("true").Process.ID
			want[id], order = v.chat, append([]string{id}, order...)
		}
		ours := slices.DeleteFunc(c.host.list(), func(p procmgr.Process) bool { // the host may have other users
			chat, ours := want[p.ID]
			c.errorIf(ours && p.ChatID != chat, "a process of the chat %q is listed as one of %q", chat, p.ChatID)
			return !ours
		})
		c.errorIf(!slices.Equal(ids(ours), order),
			"processes of several chats were started, the newest first, as %q, and the host's List has %q", order, ids(ours))
		for id, chat := range want {
			if p := c.host.look(id).Process; p.ChatID != chat {
				c.errorf("a process of the chat %q is one of %q to the host's Output", chat, p.ChatID)
			}
		}
	}},
}

func ids(all []procmgr.Process) []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.ID
	}
	return names
}

func listOrder(c *check, m *view) {
	var kinds [3][]string // that run, have exited in the background, and the others; the newest first
	for i := range 9 {
		req := procmgr.StartRequest{Command: "exec sleep 600"}
		if i%3 > 0 {
			req = procmgr.StartRequest{Command: "exit 3", Wait: c.long, Background: i%3 == 1}
		}
		if i%2 == 0 {
			req.ID = c.id() // the order of the IDs is not the order of the starts
		}
		req.ID = m.start(req).Process.ID
		m.start(req) // attaches
		kinds[i%3] = append([]string{req.ID}, kinds[i%3]...)
	}
	want := slices.Concat(kinds[:]...)
	for _, tt := range []struct {
		req         procmgr.ListRequest
		want        []string
		total, live int
	}{
		{procmgr.ListRequest{}, want, 9, 3},
		{procmgr.ListRequest{Limit: 4}, want[:4], 9, 3},
		{procmgr.ListRequest{Limit: 4, Offset: 7}, want[7:], 9, 3},
		{procmgr.ListRequest{Limit: 4, Offset: 10}, nil, 9, 3},
		{procmgr.ListRequest{Limit: -1, State: procmgr.Exited}, want[3:], 6, 0},
		{procmgr.ListRequest{Limit: 2, State: procmgr.Running}, want[:2], 3, 3},
		{procmgr.ListRequest{Limit: 2, State: procmgr.Detached}, nil, 0, 0},
	} {
		page, err := m.tryList(tt.req)
		if got := ids(page.Processes); err != nil || !slices.Equal(got, tt.want) || page.Total != tt.total || page.Live != tt.live {
			c.errorf("List with %+v has %q of %d with %d that live; it should have %q of %d with %d; the result is %s", tt.req, got, page.Total, page.Live, tt.want, tt.total, tt.live, told(err))
		}
	}
	for _, req := range []procmgr.ListRequest{{State: "asleep"}, {Offset: -1}} {
		c.is(errOf(m.tryList(req)), procmgr.ErrInvalid, "List with %+v", req)
	}
	all := m.list()
	c.endIfFailed()
	for i, p := range all {
		if i < 3 && (p.State != procmgr.Running || p.ExitCode != nil) {
			c.errorf("a process that runs is listed as %q with the exit code %s", p.State, code(p))
		} else if i >= 3 {
			c.exited(p, 3, procmgr.CauseExit)
		}
		if i%3 > 0 && p.StartedAt.After(all[i-1].StartedAt) {
			c.errorf("a process that was started earlier is listed as started at %v, after %v", p.StartedAt, all[i-1].StartedAt)
		}
	}
	m.kill(kinds[0][1]) // it was started between the oldest of the others and the next one
	want = slices.Concat([]string{kinds[0][0], kinds[0][2]}, kinds[1], kinds[2][:2], kinds[0][1:2], kinds[2][2:])
	if got := ids(m.list()); !slices.Equal(got, want) {
		c.errorf("after a kill List has %q, and it should have %q", got, want)
	}
}

var chatCases = []testCase{
	{"odd names", "the ID of a chat counts byte for byte: chats with different IDs are different chats, and Chat with the same ID returns the same one", chatNames},
	{"refused", "if the ID of a chat is empty, has over 256 bytes or a control character, or is not valid UTF-8, every call fails with ErrInvalid: isolation fails closed", chatRefused},
}

func chatNames(c *check, _ *view) {
	long := c.mark + strings.Repeat("x", 256-len(c.mark))
	names := []string{" " + c.mark, c.mark, c.mark + " ", "ä" + c.mark, `"` + c.mark + `"`, long, long[:255]}
	for _, name := range []string{
		"a", "A", " a", "a ", "  a", "a  ", " ",
		"%61", "%", "%00", "%20a", "a+", "a/b", "/a", "..", "a?b=c&d", "#", ";", ",", "a,b", ":", "a:b", "=",
		`"a"`, `a\b`, `a\u0062`, "'", "`id`", "$HOME", "*", "<a>", "{}", "[]", "=?utf-8?q?a?=",
		"ä", "a\u0308", "é😀", "\u2028", "\ufeff", "host", "null",
	} {
		names = append(names, c.chatName(name))
	}
	id := c.id()
	for _, name := range names {
		out, err := c.chatNamed(name).tryStart(procmgr.StartRequest{ID: id, Command: `printf '%s' "$TOOLPROC_CHAT_ID"`, Wait: c.long})
		c.errorIf(err != nil || out.Attached || out.Text != name || out.Process.ChatID != name,
			"the chat is %q; its first process sees %q, Attached is %v, ChatID %q, the result %s", name, out.Text, out.Attached, out.Process.ChatID, told(err))
	}
	for _, name := range names {
		m := c.chatNamed(name)
		page, err := m.tryList(procmgr.ListRequest{})
		if all := page.Processes; err != nil || len(all) != 1 || all[0].ChatID != name {
			c.errorf("the chat %q has started one process, and its List has %d, the result is %s: %+v", name, len(all), told(err), all)
		}
		if out, err := m.tryRead(id, procmgr.OutputRequest{}); err != nil || out.Text != name {
			c.errorf("the output of the chat %q is %q, the result is %s", name, out.Text, told(err))
		}
	}
}

func chatRefused(c *check, _ *view) {
	own := c.own()
	file, id := own.dir()+"/runs", own.sleeper()
	for _, name := range []string{"", "a\nb", "a\r\nb", "a\x00b", "a\tb", "a\x7fb", "a\u0085b", "a\xffb", strings.Repeat("x", 257), strings.Repeat("x", 100_000)} {
		m, called := c.chatNamed(name), fmt.Sprintf("in the chat %.20q", name)
		c.fatalIf(m.m == nil, "Chat(%.20q) returned nil, and no Manager to answer", name)
		for _, req := range []procmgr.StartRequest{{Command: "echo ran >>" + quote(file), Wait: c.long}, {ID: id, Command: sleeps}} {
			m.refuses(req, procmgr.ErrInvalid, "Start %s", called)
		}
		out, err := m.tryRead(id, procmgr.OutputRequest{})
		c.is(err, procmgr.ErrInvalid, "Output %s", called)
		page, err := m.tryList(procmgr.ListRequest{})
		c.is(err, procmgr.ErrInvalid, "List %s", called)
		c.errorIf(out.Text != "" || len(page.Processes) > 0,
			"Output and List %s returned %q and %d processes", called, out.Text, len(page.Processes))
		for _, sig := range signals {
			c.is(m.trySignal(id, sig), procmgr.ErrInvalid, "%s %s", sig, called)
		}
		own.runs(id, "after a chat without a usable ID has sent it signals")
	}
	c.errorIf(own.file(file) != "", "Start in a chat without a usable ID ran its command")
}

var isolationCases = []testCase{
	{"of other chats", "a chat lists, reads and signals only its own processes: for a process of another chat, it gets the ErrNotFound of an ID that was never used", func(c *check, m *view) { isolated(c, m, c.chat("b")) }},
	{"of the host", "a chat lists, reads and signals only its own processes: for a process of the host itself, it gets the ErrNotFound of an ID that was never used", func(c *check, m *view) { isolated(c, m, c.own()) }},
	{"one ID in two chats", "two chats may use the same ID, each for a process of its own; a Host that is asked for it fails with ErrConflict and does nothing", isolatedSameID},
}

func isolated(c *check, m, owner *view) {
	p, exited := owner.puppet(), owner.run("echo secret").Process.ID
	m.run("true")
	for _, id := range []string{p.id, exited} {
		never := c.id() // gets the same calls, because a stop spends an ID
		for _, req := range []procmgr.OutputRequest{{}, {Wait: time.Millisecond}, {Until: "."}} {
			out, err := m.tryRead(id, req)
			c.unknown("Output", id, err, never, errOf(m.tryRead(never, req)))
			c.errorIf(out.Text != "" || out.Process.Command != "",
				"Output of a process that the chat did not start returned %q: %q", out.Process.Command, out.Text)
		}
		for _, sig := range signals {
			c.unknown(string(sig), id, m.trySignal(id, sig), never, m.trySignal(never, sig))
		}
	}
	if p := m.listed(); p.ID == exited || p.ChatID != m.chat {
		c.errorf("List has a process that the chat did not start: %q of the chat %q", p.ID, p.ChatID)
	}
	p.exits("echo alive; exit 3", "alive\n", 3)
	c.text(owner.look(exited), "secret\n")
}

// unknown fails if the error of a call for another chat's ID is not ErrNotFound, or not the
// error for an ID that was never used.
func (c *check) unknown(what, id string, err error, never string, errNever error) {
	c.is(err, procmgr.ErrNotFound, "%s of a process that the chat did not start", what)
	if got, want := strings.ReplaceAll(fmt.Sprint(err), id, "ID"), strings.ReplaceAll(fmt.Sprint(errNever), never, "ID"); got != want {
		c.errorf("%s of an ID that was never used returns %q, and of the ID of another chat %q", what, want, got)
	}
}

func isolatedSameID(c *check, m *view) {
	id, other, own := c.id(), c.chat("b"), c.own()
	pids := map[int]bool{}
	for _, v := range []*view{m, other, own} {
		command := sleeps
		if v == own {
			command = "exit 0" // no other Manager reaches this one
		}
		out := v.start(procmgr.StartRequest{ID: id, Command: command})
		p := out.Process
		c.errorIf(out.Attached || pids[p.PID] || p.ID != id || p.ChatID != v.chat,
			"Start with the ID %q in the chat %q returned the process %q of the chat %q, PID %d, Attached %v", id, v.chat, p.ID, p.ChatID, p.PID, out.Attached)
		pids[p.PID] = true
	}
	out, err := c.host.tryRead(id, procmgr.OutputRequest{})
	c.is(err, procmgr.ErrConflict, "Output by the host of an ID that two chats have")
	c.text(out, "")
	for _, sig := range signals {
		c.is(c.host.trySignal(id, sig), procmgr.ErrConflict, "%s by the host of an ID that two chats have", sig)
	}
	other.runs(id, "after the host was asked to signal an ID that two chats have")
	other.kill(id)
	c.exited(other.look(id).Process, 137, procmgr.CauseRequest)
	m.runs(id, "after another chat has killed its process of that ID")
}

var concurrentCases = []testCase{
	{"many callers", "all methods are safe for concurrent use, and no caller gets the answer of another", func(c *check, _ *view) {
		together(8, func(i int) {
			for j := range 3 {
				concurrentCaller(c, c.chat(fmt.Sprint("chat ", i%4)), fmt.Sprintf("%d-%d", i, j))
			}
		})
	}},
	{"the caller's to change", "callers own the values that they get, and those of a request once its call has returned", concurrentOwned},
}

// concurrentCaller is one of many callers. Not all of them may end the case.
func concurrentCaller(c *check, m *view, word string) {
	out, err := m.tryStart(procmgr.StartRequest{Command: "echo " + word + "; exec sleep 600"})
	if err != nil {
		c.errorf("one of many Starts at once failed: %s", told(err))
		return
	}
	id := out.Process.ID
	out, err = m.tryRead(id, procmgr.OutputRequest{Until: "^" + word + "$", Wait: c.long})
	c.errorIf(err != nil || !out.Matched || out.Text != word+"\n" || out.Process.ID != id,
		"one of many processes printed %q, and Output returned %q of %q, Matched %v, the result %s", word+"\n", out.Text, out.Process.ID, out.Matched, told(err))
	page, err := m.tryList(procmgr.ListRequest{})
	at := slices.IndexFunc(page.Processes, func(p procmgr.Process) bool { return p.ID == id && p.State == procmgr.Running })
	foreign := slices.ContainsFunc(page.Processes, func(p procmgr.Process) bool { return p.ChatID != m.chat })
	c.errorIf(err != nil || at < 0 || foreign,
		"one of many Lists at once lacks the process that was started before, or has one of another chat; the result is %s: %+v", told(err), page.Processes)
	err = m.trySignal(id, procmgr.Kill)
	c.errorIf(err != nil, "one of many Kills at once failed: %s", told(err))
	out, err = m.tryRead(id, procmgr.OutputRequest{})
	c.errorIf(err != nil || out.Process.State != procmgr.Exited || out.Process.EndedBy != procmgr.CauseRequest,
		"one of many processes was killed, and is %q, ended by %q, the result %s", out.Process.State, out.Process.EndedBy, told(err))
}

func concurrentOwned(c *check, m *view) {
	req := procmgr.StartRequest{ID: c.id(), Command: "printf 0123456789; exit 3", Env: map[string]string{"A": "1"}, Wait: c.long}
	spoiled := func(by string, p procmgr.Process) {
		if p.ID != req.ID || p.Command != req.Command || p.State != procmgr.Exited || code(p) != "3" {
			c.fatalf("a caller has changed the values that it got, and %s now returns %q, %q, state %q, exit code %s", by, p.ID, p.Command, p.State, code(p))
		}
		*p.ExitCode = 99
	}
	spoiled("Start", m.start(req).Process)
	req.Env["A"] = "2" // the caller may change it now: the process was started with 1
	for range 2 {
		out := m.read(req.ID, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 5}})
		spoiled("Output", out.Process)
		c.cut(out, 5, "", "56789", 10)
		*out.Truncated = headtail.Truncation{}
		page := m.list()
		c.fatalIf(len(page) != 1, "List has %d processes of a chat that has started one", len(page))
		spoiled("List", page[0])
		page[0] = procmgr.Process{}
	}
	c.is(errOf(m.tryStart(req)), procmgr.ErrConflict, "Start with a used ID and a changed map")
	req.Env["A"] = "1"
	spoiled("a Start that attaches", m.start(req).Process)
}
