package proctest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var eventsCases = []testCase{
	{"each start and end", "Events tells each start and end of a process, once and in order, with the process as it was then; or the error is errors.ErrUnsupported", eventsTold},
	{"detached", "Events tells that a process has become detached, between its start and its end", eventsDetached},
	{"place by place", "reading events consumes nothing, Limit bounds a page, and Next is where to go on", eventsPages},
	{"latest", "Latest returns no events and waits for none, and all later events come after its Next", eventsLatest},
	{"wait", "a wait for events ends at the next one that the caller can see, and at its time; if ctx ends, the call returns its error", eventsWait},
	{"agree with List", "by the time Events tells an end, List and Output show it", eventsAgree},
	{"of one chat", "a chat sees the events of its own processes alone, and the host those of all; with an invalid chat every call is ErrInvalid", eventsChats},
	{"gap", "a cursor that the host does not know is Gap, told at once and once, with the events that are still there and a Next to go on from", eventsGap},
	{"notify", "the first line that Notify matches is an event with that line, and later lines are none", eventsNotify},
	{"notify refused", "a Notify that Until would refuse is ErrInvalid and starts nothing, and Notify is no part of what an ID stands for", eventsNotifyRefused},
}

func (c *check) tryEvents(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	var page procmgr.EventPage // not touched by a call that was given up
	err := c.bounded(func() error {
		got, err := m.Events(ctx, req)
		c.mu.Lock()
		defer c.mu.Unlock()
		page = got
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return page, err
}

// tellsEvents reports whether the host tells of events. If it does not, a case
// has nothing to look at.
func (c *check) tellsEvents(m procmgr.Manager) bool {
	c.Helper()
	_, err := c.tryEvents(c.ctx, m, procmgr.EventsRequest{Latest: true})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		c.fatalf("Events failed: %v", err)
	}
	return err == nil
}

func (c *check) events(m procmgr.Manager, req procmgr.EventsRequest) procmgr.EventPage {
	c.Helper()
	page, err := c.tryEvents(c.ctx, m, req)
	if err != nil {
		c.fatalf("Events failed: %v", err)
	}
	if page.Next == "" || len(page.Next) > 4<<10 {
		c.errorf("the Next of a page of events has %d bytes, not 1 to 4,096", len(page.Next))
	}
	return page
}

// happened returns what has happened, as "ID kind".
func happened(page procmgr.EventPage) []string {
	all := make([]string, len(page.Events))
	for i, e := range page.Events {
		all[i] = e.Process.ID + " " + string(e.Kind)
	}
	return all
}

// tells fails if a page does not have the wanted events.
func (c *check) tells(what string, page procmgr.EventPage, want ...string) {
	c.Helper()
	if got := happened(page); !slices.Equal(got, want) {
		c.fatalf("%s: Events told %q, and had to tell %q", what, got, want)
	}
	if page.Gap {
		c.errorf("%s: Gap is true, and nothing was dropped", what)
	}
}

func eventsTold(c *check) {
	m := c.chat("a")
	if !c.tellsEvents(m) {
		return
	}
	c.tells("before the first start", c.events(m, procmgr.EventsRequest{}))
	var want []string
	for i := range 3 {
		id := fmt.Sprint("p", i)
		out := c.runAs(m, procmgr.StartRequest{ID: id, Command: fmt.Sprintf("exit %d", i)})
		want = append(want, id+" started", id+" exited")
		page := c.events(m, procmgr.EventsRequest{})
		c.tells("after an end", page, want...)
		began, ended := page.Events[2*i], page.Events[2*i+1]
		if p := began.Process; p.State != procmgr.Running || p.Command != out.Process.Command || p.ExitCode != nil {
			c.errorf("the process of a start is %q with the state %q and the exit code %s", p.Command, p.State, code(p))
		}
		c.exit(ended.Process, i, "", procmgr.CauseExit)
		if began.At.IsZero() || ended.At.Before(began.At) {
			c.errorf("a start was at %v and its end at %v", began.At, ended.At)
		}
	}
	_, err := c.tryStart(m, procmgr.StartRequest{Command: " "})
	c.is(err, procmgr.ErrInvalid, "Start without a command")
	c.tells("after a start that was refused", c.events(m, procmgr.EventsRequest{}), want...)
}

func eventsDetached(c *check) {
	m := c.chat("a")
	if !c.tellsEvents(m) {
		return
	}
	id := c.run(m, "sleep 600 & exit 3").Process.ID
	c.signal(m, id, procmgr.Kill)
	page := c.events(m, procmgr.EventsRequest{})
	c.tells("a child was left behind and killed", page, id+" started", id+" detached", id+" exited")
	c.isDetached(page.Events[1].Process, "3")
	c.exit(page.Events[2].Process, 3, "", procmgr.CauseRequest)
}

func eventsPages(c *check) {
	m := c.chat("a")
	if !c.tellsEvents(m) {
		return
	}
	var want []string
	for range 4 {
		id := c.run(m, "true").Process.ID
		want = append(want, id+" started", id+" exited")
	}
	for range 2 {
		c.tells("all at once", c.events(m, procmgr.EventsRequest{}), want...)
	}
	next := ""
	for i := 0; i < len(want); i += 3 {
		page := c.events(m, procmgr.EventsRequest{After: next, Limit: 3})
		c.tells("three at a time", page, want[i:min(i+3, len(want))]...)
		next = page.Next
	}
	page := c.events(m, procmgr.EventsRequest{After: next})
	c.tells("after the last one", page)
	id := c.run(m, "true").Process.ID
	for _, after := range []string{next, page.Next} {
		c.tells("later", c.events(m, procmgr.EventsRequest{After: after}), id+" started", id+" exited")
	}
}

func eventsLatest(c *check) {
	m := c.chat("a")
	if !c.tellsEvents(m) {
		return
	}
	c.run(m, "true")
	began := time.Now()
	page := c.events(m, procmgr.EventsRequest{Latest: true, Wait: c.long})
	c.prompt(began, "Latest waited for an event")
	c.tells("Latest", page)
	id := c.run(m, "true").Process.ID
	c.tells("after Latest", c.events(m, procmgr.EventsRequest{After: page.Next}), id+" started", id+" exited")
}

func eventsWait(c *check) {
	const wait = 50 * time.Millisecond
	m := c.chat("a")
	if !c.tellsEvents(m) {
		return
	}
	next := c.events(m, procmgr.EventsRequest{Latest: true}).Next
	c.run(c.chat("b"), "true")
	began := time.Now()
	page := c.events(m, procmgr.EventsRequest{After: next, Wait: wait})
	c.tells("while nothing happened", page)
	if took := time.Since(began); took < wait {
		c.errorf("a wait of %v for events, in which nothing happened, returned after %v", wait, took)
	}
	for range 3 {
		began = time.Now()
		told := make(chan procmgr.EventPage, 1)
		failed := make(chan error, 1)
		go func() { // the receiver waits for it
			page, err := c.tryEvents(c.ctx, m, procmgr.EventsRequest{After: next, Wait: c.long})
			told <- page
			failed <- err
		}()
		id := c.sleeper(m).Process.ID
		page = <-told
		if err := <-failed; err != nil {
			c.fatalf("Events with a wait failed: %v", err)
		}
		c.prompt(began, "a process has started, and the wait for an event went on")
		c.tells("a wait", page, id+" started")
		c.signal(m, id, procmgr.Kill)
		page = c.events(m, procmgr.EventsRequest{After: page.Next, Wait: c.long})
		c.tells("a wait", page, id+" exited")
		next = page.Next
	}
	ctx, cancel := context.WithTimeout(c.ctx, wait)
	defer cancel()
	_, err := c.tryEvents(ctx, m, procmgr.EventsRequest{After: next, Wait: c.long})
	c.is(err, context.DeadlineExceeded, "a wait for events whose ctx had a deadline")
}

func eventsAgree(c *check) {
	m := c.chat("a")
	if !c.tellsEvents(m) {
		return
	}
	next := ""
	for range 8 {
		id := c.start(m, procmgr.StartRequest{Command: "true"}).Process.ID
		for over := false; !over; {
			page := c.events(m, procmgr.EventsRequest{After: next, Wait: c.long})
			if len(page.Events) == 0 {
				c.fatalf("the process %q has ended, and no event has told it", id)
			}
			next = page.Next
			over = slices.Contains(happened(page), id+" exited")
		}
		if state := c.look(m, id).Process.State; state != procmgr.Exited {
			c.errorf("an event has told the end of the process %q, and Output says %q", id, state)
		}
		for _, p := range c.list(m) {
			if p.State != procmgr.Exited {
				c.errorf("an event has told the end of the process %q, and List says %q", p.ID, p.State)
			}
		}
	}
}

func eventsChats(c *check) {
	a, b := c.chat("a"), c.chat("b")
	if !c.tellsEvents(a) {
		return
	}
	host, chat := c.own()
	next := c.events(c.host, procmgr.EventsRequest{Latest: true}).Next
	one, two := c.run(a, "true").Process.ID, c.run(b, "true").Process.ID
	three := c.run(host, "true").Process.ID
	c.tells("the first chat", c.events(a, procmgr.EventsRequest{}), one+" started", one+" exited")
	c.tells("the second chat", c.events(b, procmgr.EventsRequest{}), two+" started", two+" exited")
	c.tells("a chat that has started nothing", c.events(c.chat("c"), procmgr.EventsRequest{}))
	var own []string
	for _, e := range c.events(c.host, procmgr.EventsRequest{After: next, Limit: -1}).Events { // the host may have other users
		if id := e.Process.ID; id == one || id == two || id == three {
			own = append(own, fmt.Sprintf("%s %s of %q", id, e.Kind, strings.TrimPrefix(e.Process.ChatID, c.mark)))
		}
	}
	want := []string{
		one + ` started of " a"`, one + ` exited of " a"`, two + ` started of " b"`, two + ` exited of " b"`,
		fmt.Sprintf("%s started of %q", three, strings.TrimPrefix(chat, c.mark)), fmt.Sprintf("%s exited of %q", three, strings.TrimPrefix(chat, c.mark)),
	}
	if !slices.Equal(own, want) {
		c.errorf("Events of the host told %q, and had to tell %q", own, want)
	}
	_, err := c.tryEvents(c.ctx, c.host.Chat(""), procmgr.EventsRequest{})
	c.is(err, procmgr.ErrInvalid, "Events of a chat without an ID")
}

func eventsGap(c *check) {
	m := c.chat("a")
	if !c.tellsEvents(m) {
		return
	}
	id := c.run(m, "true").Process.ID
	for _, cursor := range []string{"garbled", "\x00\xff&?%", strings.Repeat("x", 10<<10)} {
		began := time.Now()
		page := c.events(m, procmgr.EventsRequest{After: cursor, Wait: c.long})
		c.prompt(began, "a gap had to be told, and the call waited for an event")
		if !page.Gap {
			c.errorf("no host has given the cursor %s, and Gap is false", excerpt(cursor))
		}
		page.Gap = false
		c.tells("with a gap", page, id+" started", id+" exited")
		c.tells("after a gap", c.events(m, procmgr.EventsRequest{After: page.Next}))
	}
}

func eventsNotify(c *check) {
	m := c.chat("a")
	if !c.tellsEvents(m) {
		return
	}
	id := c.runAs(m, procmgr.StartRequest{Command: "echo begin; echo ready 1; echo ready 2; printf 'ready 3'", Notify: "^ready"}).Process.ID
	page := c.events(m, procmgr.EventsRequest{})
	c.tells("three lines matched", page, id+" started", id+" matched", id+" exited")
	if line := page.Events[1].Line; line != "ready 1" {
		c.errorf("the first line that Notify matched was %q, and Line is %q", "ready 1", line)
	}
	next := page.Next
	for command, want := range map[string]string{"printf 'Password: '; exec sleep 600": "Password: ", "printf '%0900d: \\n' 0; exec sleep 600": ""} {
		id := c.start(m, procmgr.StartRequest{Command: command, Notify: ": $"}).Process.ID
		page := procmgr.EventPage{Next: next}
		for len(page.Events) < 2 {
			more := c.events(m, procmgr.EventsRequest{After: page.Next, Wait: c.long})
			if len(more.Events) == 0 {
				c.fatalf("a line of a process that runs has matched Notify, and no event has told it")
			}
			page.Events, page.Next = append(page.Events, more.Events...), more.Next
		}
		c.tells("a process that runs", page, id+" started", id+" matched")
		if line := page.Events[1].Line; len(line) > 500 || want != "" && line != want {
			c.errorf("Line has %d bytes: %s", len(line), excerpt(line))
		}
		c.signal(m, id, procmgr.Kill)
		next = c.events(m, procmgr.EventsRequest{Latest: true}).Next
	}
}

func eventsNotifyRefused(c *check) {
	m := c.chat("a")
	if !c.tellsEvents(m) {
		return
	}
	for _, pattern := range []string{"(", "a\nb", strings.Repeat("x", 257), "x{1000}"} {
		out, err := c.tryStart(m, procmgr.StartRequest{Command: "true", Notify: pattern})
		c.is(err, procmgr.ErrInvalid, "Start with Notify %s", excerpt(pattern))
		if out.Process.ID != "" {
			c.errorf("Start with Notify %s returned the process %q", excerpt(pattern), out.Process.ID)
		}
	}
	c.tells("after starts that were refused", c.events(m, procmgr.EventsRequest{}))
	id := c.id()
	for _, pattern := range []string{"a", "b", ""} {
		out := c.start(m, procmgr.StartRequest{ID: id, Command: "echo b; echo a", Notify: pattern, Wait: c.long})
		if out.Attached != (pattern != "a") {
			c.errorf("a Start with an ID that was used, and with another Notify, returned Attached %v", out.Attached)
		}
	}
	page := c.events(m, procmgr.EventsRequest{})
	c.tells("one process", page, id+" started", id+" matched", id+" exited")
	if line := page.Events[1].Line; line != "a" {
		c.errorf("the first Start had Notify a, and Line is %q", line)
	}
}
