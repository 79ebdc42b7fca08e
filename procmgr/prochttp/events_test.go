package prochttp_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// events reads a page that must be there.
func events(t testing.TB, m procmgr.Manager, req procmgr.EventsRequest) procmgr.EventPage {
	t.Helper()
	page, err := m.Events(t.Context(), req)
	require.NoError(t, err)
	return page
}

// kinds returns what has happened, as "ID kind".
func kinds(page procmgr.EventPage) []string {
	var all []string
	for _, e := range page.Events {
		all = append(all, e.Process.ID+" "+string(e.Kind))
	}
	return all
}

// A wait goes on over slices, lost requests and lost answers, and misses no
// event between two of them.
func TestEventsInSlices(t *testing.T) {
	l := newLocal(t, nil)
	c, p := sliced(t, l)
	m := c.Chat("a")
	next := ""
	for i, what := range []fault{none, lostRequest, lostAnswer, cutAnswer, badGateway} {
		id := fmt.Sprint("p", i)
		pages := make(chan procmgr.EventPage)
		go func() {
			page, err := m.Events(context.Background(), procmgr.EventsRequest{After: next, Wait: 10 * long})
			assert.NoError(t, err)
			pages <- page
		}()
		before := p.count("/events")
		require.Eventually(t, func() bool { return p.count("/events") > before+3 }, long, time.Millisecond)
		p.set(func(p *proxy) { p.plan = once("/events", what) })
		out := start(t, l.Chat("a"), procmgr.StartRequest{ID: id, Command: "exec sleep 1000"})
		page := <-pages
		require.Equal(t, []string{id + " started"}, kinds(page), "%v", what)
		require.Equal(t, out.Process.PID, page.Events[0].Process.PID)
		require.False(t, page.Gap)
		next = page.Next
		require.NoError(t, m.Signal(t.Context(), id, procmgr.Kill))
		page = events(t, m, procmgr.EventsRequest{After: next, Wait: long})
		require.Equal(t, []string{id + " exited"}, kinds(page))
		next = page.Next
	}
	began := time.Now()
	require.Empty(t, events(t, m, procmgr.EventsRequest{After: next, Wait: 100 * time.Millisecond}).Events)
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
}

// A server that was restarted is a gap, told once. A handler that was restarted
// in front of the same Local is none.
func TestEventsAfterARestart(t *testing.T) {
	p := newProxy(t, "")
	begin := func(l *proclocal.Local) {
		url := serve(t, newHandler(t, l, nil))
		p.set(func(p *proxy) { p.backend = url })
	}
	inner := newClient(t, p.url, nil)
	prochttp.SetSlice(inner, 20*time.Millisecond)
	outer := newClient(t, serve(t, newHandler(t, inner, nil)), nil)
	first, second := newLocal(t, nil), newLocal(t, nil)
	for _, c := range []*prochttp.Client{inner, outer} {
		begin(first)
		run(t, c.Chat("a"), "true")
		next := events(t, c.Chat("a"), procmgr.EventsRequest{}).Next
		begin(first)
		page := events(t, c.Chat("a"), procmgr.EventsRequest{After: next})
		require.False(t, page.Gap)
		require.Empty(t, page.Events)

		// In the middle of a wait.
		pages := make(chan procmgr.EventPage)
		go func() {
			page, err := c.Chat("a").Events(context.Background(), procmgr.EventsRequest{After: next, Wait: 10 * long})
			assert.NoError(t, err)
			pages <- page
		}()
		before := p.count("/events")
		require.Eventually(t, func() bool { return p.count("/events") > before+2 }, long, time.Millisecond)
		begin(second)
		page = <-pages
		require.True(t, page.Gap)
		page = events(t, c.Chat("a"), procmgr.EventsRequest{After: page.Next})
		require.False(t, page.Gap, "it is told once")
		require.Empty(t, page.Events)
	}
}
