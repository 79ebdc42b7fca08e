package prochttp_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
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
