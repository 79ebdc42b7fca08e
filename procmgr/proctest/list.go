package proctest

import (
	"errors"
	"slices"

	"github.com/toolproc/toolproc/procmgr"
)

var listCases = []testCase{
	{"order and states", "List has all processes, running or exited: those that live first, and within each kind the newest first, each with the time of its start", listOrder},
	{"empty", "List of a chat that has started nothing is empty, and no error", listEmpty},
	{"attached once", "List has a process once, however often its Start was repeated", listOnce},
	{"some", "List has the processes that a request asks for, those that live first, and within each kind the newest first", listSome},
	{"the host's", "List of a Host has the processes of every chat and its own, each with its chat", listHost},
}

func ids(all []procmgr.Process) []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.ID
	}
	return names
}

func listOrder(c *check) {
	m := c.chat("a")
	var started []string
	for i := range 12 {
		command := "exec sleep 600"
		if i%3 == 0 {
			command = "exit 3"
		}
		req := procmgr.StartRequest{Command: command}
		if i%2 == 0 {
			req.ID = c.id() // the order of the IDs is not the order of the starts
		}
		if command == "exit 3" {
			req.Wait = c.long
		}
		started = append(started, c.start(m, req).Process.ID)
	}
	// listed fails if List has another order, or another process has exited.
	listed := func(exited func(i int) bool) {
		c.Helper()
		var live, past []string
		for i, id := range slices.Backward(started) {
			if exited(i) {
				past = append(past, id)
			} else {
				live = append(live, id)
			}
		}
		all := c.list(m)
		if want := append(live, past...); !slices.Equal(ids(all), want) {
			c.fatalf("processes were started in the order %q, and List has %q instead of %q", started, ids(all), want)
		}
		for i, p := range all {
			if lives := i < len(live); lives != (p.State != procmgr.Exited) {
				c.errorf("the process %q is listed as %q", p.ID, p.State)
			}
			if i > 0 && i != len(live) && p.StartedAt.After(all[i-1].StartedAt) {
				c.errorf("a process that was started earlier is listed as started at %v, after %v", p.StartedAt, all[i-1].StartedAt)
			}
		}
	}
	for range 2 {
		listed(func(i int) bool { return i%3 == 0 })
	}
	for _, p := range c.list(m) {
		if p.State == procmgr.Exited {
			c.exit(p, 3, "", procmgr.CauseExit)
		} else if p.State != procmgr.Running || p.ExitCode != nil {
			c.errorf("a process that runs is listed as %q with the exit code %s", p.State, code(p))
		}
	}
	c.signal(m, started[1], procmgr.Kill)
	listed(func(i int) bool { return i%3 == 0 || i == 1 })
}

func listSome(c *check) {
	m := c.chat("a")
	var ids [4][]string // by kind, the newest first
	for i := range 9 {
		req, kind := procmgr.StartRequest{Command: "exec sleep 600"}, 0
		if i%3 > 0 {
			req, kind = procmgr.StartRequest{Command: "true", Wait: c.long, Background: i%3 == 1}, 1+i%3
		}
		ids[kind] = append([]string{c.start(m, req).Process.ID}, ids[kind]...)
	}
	want := slices.Concat(ids[:]...)
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
		page, err := c.tryPage(m, tt.req)
		if err != nil {
			c.fatalf("List with %+v: %v", tt.req, err)
		}
		var got []string
		for _, p := range page.Processes {
			got = append(got, p.ID)
		}
		if !slices.Equal(got, tt.want) || page.Total != tt.total || page.Live != tt.live {
			c.errorf("List with %+v has %q of %d with %d that live; it should have %q of %d with %d", tt.req, got, page.Total, page.Live, tt.want, tt.total, tt.live)
		}
	}
	for _, req := range []procmgr.ListRequest{{State: "asleep"}, {Offset: -1}} {
		if _, err := c.tryPage(m, req); !errors.Is(err, procmgr.ErrInvalid) {
			c.errorf("List with %+v is no ErrInvalid: %v", req, err)
		}
	}
}

func listEmpty(c *check) {
	c.run(c.chat("b"), "true")
	if all := c.list(c.chat("a")); len(all) > 0 {
		c.errorf("List of a chat that has started nothing has %d processes", len(all))
	}
}

func listOnce(c *check) {
	m := c.chat("a")
	req := procmgr.StartRequest{ID: c.id(), Command: "true", Wait: c.long}
	for range 3 {
		c.start(m, req)
	}
	if all := c.list(m); len(all) != 1 {
		c.errorf("one process was started and then attached to twice, and List has %d: %+v", len(all), all)
	}
}

func listHost(c *check) {
	want := map[string]string{}
	var order []string
	start := func(m procmgr.Manager, chat string) {
		c.Helper()
		id := c.start(m, procmgr.StartRequest{Command: "true", Wait: c.long}).Process.ID
		want[id] = chat
		order = append(order, id)
	}
	start(c.chat("a"), c.chatName("a"))
	start(c.own())
	start(c.chat("b"), c.chatName("b"))
	start(c.chat("a"), c.chatName("a"))

	var got []string
	for _, p := range c.list(c.host) {
		chat, ours := want[p.ID]
		if !ours {
			continue // a process of another user of the host
		}
		got = append(got, p.ID)
		if p.ChatID != chat {
			c.errorf("a process of the chat %q is listed as one of %q", chat, p.ChatID)
		}
	}
	slices.Reverse(order)
	if !slices.Equal(got, order) {
		c.errorf("processes of several chats were started, the newest first, as %q, and the host's List has %q", order, got)
	}
	for id, chat := range want {
		if p := c.look(c.host, id).Process; p.ChatID != chat {
			c.errorf("a process of the chat %q is one of %q to the host's Output", chat, p.ChatID)
		}
	}
}
