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
	{"each start and end", "Events tells each start and end of a process, and that it has become detached, once and in order, with the process as it was then; or the error is errors.ErrUnsupported", telling(eventsTold)},
	{"place by place", "reading events consumes nothing, Limit bounds a page, and Next is where to go on", telling(func(c *check, m *view) {
		var want []string
		for range 4 {
			want = append(want, m.life()...)
		}
		for range 2 {
			c.tells("all at once", m.events(procmgr.EventsRequest{}), want...)
		}
		next := ""
		for three := range slices.Chunk(want, 3) {
			page := m.events(procmgr.EventsRequest{After: next, Limit: 3})
			c.tells("three at a time", page, three...)
			next = page.Next
		}
		page := m.events(procmgr.EventsRequest{After: next})
		c.tells("after the last one", page)
		later := m.life()
		for _, after := range []string{next, page.Next} {
			c.tells("later", m.events(procmgr.EventsRequest{After: after}), later...)
		}
	})},
	{"wait", "a wait for events ends at the next one that the caller can see, and at its time; if ctx ends, the call returns its error", telling(eventsWait)},
	{"agree with List", "by the time Events tells an end, List and Output show it", telling(eventsAgree)},
	{"of one chat", "a chat sees the events of its own processes alone, and the host those of all; with an invalid chat every call is ErrInvalid", telling(eventsChats)},
	{"gap", "a cursor that the host does not know is Gap, told at once and once, with the events that are still there and a Next to go on from", telling(func(c *check, m *view) {
		want := m.life()
		for _, cursor := range []string{"garbled", "\x00\xff&?%", strings.Repeat("x", 10<<10)} {
			page := m.events(procmgr.EventsRequest{After: cursor, Wait: c.long})
			c.errorIf(!page.Gap, "no host has given the cursor %s, and Gap is false", excerpt(cursor))
			page.Gap = false
			c.tells("with a gap", page, want...)
			c.tells("after a gap", m.events(procmgr.EventsRequest{After: page.Next}))
		}
	})},
	{"notify", "the first line that Notify matches is an event with that line, and later lines are none; Notify is no part of what an ID stands for, and a Notify that Until would refuse is ErrInvalid and starts nothing", telling(eventsNotify)},
}

// telling is a case of a host that tells of events. If it does not, there is nothing to
// look at.
func telling(run func(c *check, m *view)) func(c *check, m *view) {
	return func(c *check, m *view) {
		if m.tellsEvents() {
			run(c, m)
		}
	}
}

func (v *view) tellsEvents() bool {
	_, err := v.tryEvents(v.c.ctx, procmgr.EventsRequest{Limit: -1})
	v.c.fatalIf(err != nil && !errors.Is(err, errors.ErrUnsupported), "Events failed: %s", told(err))
	return err == nil
}

func (v *view) tryEvents(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return call(v.c, func() (procmgr.EventPage, error) { return v.m.Events(ctx, req) })
}

func (v *view) events(req procmgr.EventsRequest) procmgr.EventPage {
	page, err := v.tryEvents(v.c.ctx, req)
	v.c.fatalIf(err != nil, "Events with the request %+v failed: %s", req, told(err))
	v.c.errorIf(page.Next == "", "the Next of a page of events is empty")
	return page
}

// life runs a process from its start to its end, and returns its events for tells.
func (v *view) life() []string {
	id := v.run("true").Process.ID
	return []string{id + " started", id + " exited"}
}

// happened returns what has happened, as "ID kind".
func happened(page procmgr.EventPage) []string {
	all := make([]string, len(page.Events))
	for i, e := range page.Events {
		all[i] = e.Process.ID + " " + string(e.Kind)
	}
	return all
}

// tells ends the case if a page does not have the wanted events.
func (c *check) tells(what string, page procmgr.EventPage, want ...string) {
	if got := happened(page); !slices.Equal(got, want) {
		c.fatalf("%s: Events told %q, and had to tell %q", what, got, want)
	}
	c.errorIf(page.Gap, "%s: Gap is true, and nothing was dropped", what)
}

func eventsTold(c *check, m *view) {
	c.tells("before the first start", m.events(procmgr.EventsRequest{}))
	var want []string
	for i := range 3 {
		id := fmt.Sprint("p", i)
		out := m.runAs(procmgr.StartRequest{ID: id, Command: fmt.Sprintf("exit %d", i)})
		want = append(want, id+" started", id+" exited")
		page := m.events(procmgr.EventsRequest{})
		c.tells("after an end", page, want...)
		began, ended := page.Events[2*i], page.Events[2*i+1]
		if p := began.Process; p.State != procmgr.Running || p.Command != out.Process.Command || p.ExitCode != nil {
			c.errorf("the process of a start is %q with the state %q and the exit code %s", p.Command, p.State, code(p))
		}
		c.exited(ended.Process, i, procmgr.CauseExit)
		c.errorIf(began.At.IsZero() || ended.At.Before(began.At), "a start was at %v and its end at %v", began.At, ended.At)
	}
	id := m.run("sleep 600 & exit 3").Process.ID
	m.kill(id)
	want = append(want, id+" started", id+" detached", id+" exited")
	page := m.events(procmgr.EventsRequest{})
	c.tells("a child was left behind and killed", page, want...)
	c.detached(page.Events[len(want)-2].Process, "3")
	c.exited(page.Events[len(want)-1].Process, 3, procmgr.CauseRequest)
	c.is(errOf(m.tryStart(procmgr.StartRequest{Command: " "})), procmgr.ErrInvalid, "Start without a command")
	c.tells("after a start that was refused", m.events(procmgr.EventsRequest{}), want...)
}

func eventsWait(c *check, m *view) {
	next := m.events(procmgr.EventsRequest{Limit: -1}).Next
	c.chat("b").run("true")
	began := time.Now()
	c.tells("a wait in which only another chat's process ran", m.events(procmgr.EventsRequest{After: next, Wait: brief}))
	if took := time.Since(began); took < brief {
		c.errorf("a wait of %v for events, in which nothing happened, returned after %v", brief, took)
	}
	for range 3 {
		answer := later(func() (procmgr.EventPage, error) {
			return m.tryEvents(c.ctx, procmgr.EventsRequest{After: next, Wait: c.long})
		})
		id := m.sleeper()
		page, err := answer()
		c.fatalIf(err != nil, "a process has started, and a wait for its event failed: %s", told(err))
		c.tells("a wait", page, id+" started")
		m.kill(id)
		page = m.events(procmgr.EventsRequest{After: page.Next, Wait: c.long})
		c.tells("a wait", page, id+" exited")
		next = page.Next
	}
	ctx, cancel := context.WithTimeout(c.ctx, brief)
	defer cancel()
	c.is(errOf(m.tryEvents(ctx, procmgr.EventsRequest{After: next, Wait: c.long})), context.DeadlineExceeded, "a wait for events whose ctx had a deadline")
}

func eventsAgree(c *check, m *view) {
	next := ""
	for range 8 {
		id := m.start(procmgr.StartRequest{Command: "true"}).Process.ID
		for over := false; !over; {
			page := m.events(procmgr.EventsRequest{After: next, Wait: c.long})
			c.fatalIf(len(page.Events) == 0, "the process %q has ended, and no event has told it", id)
			next, over = page.Next, slices.Contains(happened(page), id+" exited")
		}
		for _, p := range append(m.list(), m.look(id).Process) {
			c.errorIf(p.State != procmgr.Exited, "an event has told the end of the process %q, and List or Output says %q", p.ID, p.State)
		}
	}
}

func eventsChats(c *check, m *view) {
	other, own := c.chat("b"), c.own()
	next := c.host.events(procmgr.EventsRequest{Limit: -1}).Next
	var want []string // of the host
	for _, v := range []*view{m, other, own} {
		told := v.life()
		if v != c.host { // which may have other users
			c.tells("a chat with one process", v.events(procmgr.EventsRequest{}), told...)
		}
		want = append(want, told[0]+" of "+v.chat, told[1]+" of "+v.chat)
	}
	c.tells("a chat that has started nothing", c.chat("c").events(procmgr.EventsRequest{}))
	var got []string
	page := c.host.events(procmgr.EventsRequest{After: next, Limit: -1})
	for i, e := range happened(page) {
		if e += " of " + page.Events[i].Process.ChatID; slices.Contains(want, e) {
			got = append(got, e)
		}
	}
	c.errorIf(!slices.Equal(got, want), "Events of the host told %q, and had to tell %q", got, want)
	c.is(errOf(c.chatNamed("").tryEvents(c.ctx, procmgr.EventsRequest{})), procmgr.ErrInvalid, "Events of a chat without an ID")
}

func eventsNotify(c *check, m *view) {
	for _, pattern := range []string{"(", "a\nb", strings.Repeat("x", 257), "x{1000}"} {
		m.refuses(procmgr.StartRequest{Command: "true", Notify: pattern}, procmgr.ErrInvalid, "Start with Notify %s", excerpt(pattern))
	}
	id := c.id()
	for _, pattern := range []string{"^ready", "begin", ""} {
		out := m.runAs(procmgr.StartRequest{ID: id, Command: "echo begin; echo ready 1; echo ready 2; printf 'ready 3'", Notify: pattern})
		c.errorIf(out.Attached != (pattern != "^ready"), "a Start with an ID that was used, and with another Notify, returned Attached %v", out.Attached)
	}
	page := m.events(procmgr.EventsRequest{})
	c.tells("three lines matched", page, id+" started", id+" matched", id+" exited")
	if line := page.Events[1].Line; line != "ready 1" {
		c.errorf("the first line that Notify matched was %q, and Line is %q", "ready 1", line)
	}
	for command, want := range map[string]string{"printf 'Password: '; exec sleep 600": "Password: ", "printf '%0900d: \\n' 0; exec sleep 600": ""} {
		page = m.events(procmgr.EventsRequest{Limit: -1})
		id := m.start(procmgr.StartRequest{Command: command, Notify: ": $"}).Process.ID
		for page.Events = nil; len(page.Events) < 2; {
			more := m.events(procmgr.EventsRequest{After: page.Next, Wait: c.long})
			c.fatalIf(len(more.Events) == 0, "a line of a process that runs has matched Notify, and no event has told it")
			page.Events, page.Next = append(page.Events, more.Events...), more.Next
		}
		c.tells("a process that runs", page, id+" started", id+" matched")
		if line := page.Events[1].Line; len(line) > 500 || want != "" && line != want {
			c.errorf("Line has %d bytes: %s", len(line), excerpt(line))
		}
		m.kill(id)
	}
}
