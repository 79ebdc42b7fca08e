package proclocal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// events reads a page that must be there.
func events(t testing.TB, m procmgr.Manager, req procmgr.EventsRequest) procmgr.EventPage {
	t.Helper()
	page, err := m.Events(t.Context(), req)
	require.NoError(t, err)
	require.NotEmpty(t, page.Next)
	require.LessOrEqual(t, len(page.Next), 4<<10)
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

// Close ends the waits, and the events can still be read.
func TestEventsAfterClose(t *testing.T) {
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	start(t, l, procmgr.StartRequest{ID: "x", Command: "exec sleep 600"})
	next := events(t, l, procmgr.EventsRequest{}).Next
	waiting := make(chan error, 1)
	go func() {
		_, err := l.Chat("a").Events(context.Background(), procmgr.EventsRequest{After: next, Wait: 100 * long})
		waiting <- err
	}()
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-waiting, procmgr.ErrClosed)
	page := events(t, l, procmgr.EventsRequest{After: next, Wait: long})
	require.Equal(t, []string{"x exited"}, kinds(page))
	require.Equal(t, procmgr.CauseShutdown, page.Events[0].Process.EndedBy)
	require.Empty(t, events(t, l, procmgr.EventsRequest{After: page.Next}).Events)
}

// Events outlive the records and the tombstones of their processes, and have no
// path of a log that is gone.
func TestEventsOutliveRecords(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Retain: time.Nanosecond, LogDir: t.TempDir()})
	long := strings.Repeat("x", 300)
	out := run(t, l, ": "+long)
	eventually(t, "the record has gone", func() bool { return len(list(t, l)) == 0 })
	page := events(t, l, procmgr.EventsRequest{})
	require.Equal(t, []string{out.Process.ID + " started", out.Process.ID + " exited"}, kinds(page))
	for _, e := range page.Events {
		require.Empty(t, e.Process.LogPath)
		require.Equal(t, ": "+long[:254]+"…", e.Process.Command)
	}
}

// all is a limit for all events that are kept.
const all = -1

// Beyond 16,384 events, the chat with the most loses its oldest one.
func TestEventsOfManyChats(t *testing.T) {
	l := newLocal(t, nil)
	const chats = 20
	name := func(i int) string { return fmt.Sprint("chat", i) }
	for i := range chats {
		proclocal.Tell(l, name(i), proclocal.MaxChatEvents)
	}
	proclocal.Tell(l, "quiet", 2)
	kept := 0
	for i := range chats {
		page := events(t, l.Chat(name(i)), procmgr.EventsRequest{Limit: all})
		require.True(t, page.Gap)
		require.InDelta(t, (proclocal.MaxEvents-2)/chats, len(page.Events), 1)
		kept += len(page.Events)
	}
	page := events(t, l.Chat("quiet"), procmgr.EventsRequest{})
	require.False(t, page.Gap)
	require.Len(t, page.Events, 2)
	require.Equal(t, proclocal.MaxEvents, kept+2)
	require.Len(t, events(t, l, procmgr.EventsRequest{Limit: all}).Events, proclocal.MaxEvents)

	// A chat that has lost its last event says so.
	for i := range proclocal.MaxEvents {
		proclocal.Tell(l, fmt.Sprint("one of many", i), 1)
	}
	page = events(t, l.Chat("quiet"), procmgr.EventsRequest{})
	require.True(t, page.Gap)
	require.Empty(t, page.Events)
	require.False(t, events(t, l.Chat("quiet"), procmgr.EventsRequest{After: page.Next}).Gap)
}

// Whatever the order of events, drops and reads: each reader gets each event
// that is kept once and in order, and is told of a gap if and only if it missed
// one.
func TestEventsOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	l := newLocal(t, nil)
	type reader struct {
		m     procmgr.Manager
		chat  string
		next  string
		place int // the number of the viewer's events that it knows of
	}
	told := map[string]int{} // how many each viewer could see
	var readers []*reader
	for i := range 6 {
		chat := fmt.Sprint("chat", i%3)
		readers = append(readers, &reader{m: l.Chat(chat), chat: chat})
	}
	for range 4000 {
		if chat := fmt.Sprint("chat", r.IntN(3)); r.IntN(3) > 0 {
			n := r.IntN(100)
			proclocal.Tell(l, chat, n)
			told[chat] += n
			continue
		}
		rd := readers[r.IntN(len(readers))]
		limit := r.IntN(400) + 1
		page := events(t, rd.m, procmgr.EventsRequest{After: rd.next, Limit: limit})
		oldest := max(told[rd.chat]-proclocal.MaxChatEvents, 0)
		require.Equal(t, rd.place < oldest, page.Gap)
		rd.place = max(rd.place, oldest)
		require.Len(t, page.Events, min(limit, told[rd.chat]-rd.place))
		rd.place, rd.next = rd.place+len(page.Events), page.Next
	}
}
