package proclocal_test

import (
	"context"
	"slices"
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

// A cursor that is not one of this manager is a gap, which is told once.
func TestEventsGap(t *testing.T) {
	other := newLocal(t, nil)
	run(t, other, "true")
	l := newLocal(t, nil)
	run(t, l.Chat("a"), "true")
	own := events(t, l, procmgr.EventsRequest{}).Next
	for _, m := range []procmgr.Manager{l, l.Chat("a"), l.Chat("b")} {
		for _, garbled := range []string{
			events(t, other, procmgr.EventsRequest{}).Next, "x", own + "1", own + " ", "+" + own, own[1:], strings.Replace(own, ".", ".0", 1),
			strings.Repeat("x", 1<<20), "\x00\xff", ".", "." + own,
		} {
			all := events(t, m, procmgr.EventsRequest{})
			require.False(t, all.Gap)
			page := events(t, m, procmgr.EventsRequest{After: garbled, Wait: long})
			require.True(t, page.Gap, "%.80q", garbled)
			require.Equal(t, kinds(all), kinds(page), "the events that are still there")
			page = events(t, m, procmgr.EventsRequest{After: page.Next})
			require.False(t, page.Gap, "it is told once")
			require.Empty(t, page.Events)
		}
	}
}

// Close ends the waits, and the events can still be read.
func TestEventsAfterClose(t *testing.T) {
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	_ = start(t, l, procmgr.StartRequest{ID: "x", Command: "exec sleep 600"})
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
	eventually(t, "the record has gone", func() bool {
		page, err := l.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
		return err == nil && len(all) == 0
	})
	page := events(t, l, procmgr.EventsRequest{})
	require.Equal(t, []string{out.Process.ID + " started", out.Process.ID + " exited"}, kinds(page))
	for _, e := range page.Events {
		require.Empty(t, e.Process.LogPath)
		require.Equal(t, ": "+long[:254]+"…", e.Process.Command)
	}
}

// The first line that Notify matches is an event, and then only the end.
func TestNotify(t *testing.T) {
	l := newLocal(t, nil)
	for name, tc := range map[string]struct{ command, notify, line string }{
		"the first line":    {"echo one; echo ready 1; echo ready 2", "^ready", "ready 1"},
		"an unfinished one": {"printf 'Password: '", `: $`, "Password: "},
		"a long one":        {"printf '%0900d needle %0900d\\n' 0 0", "needle", "…" + strings.Repeat("0", 163) + " needle " + strings.Repeat("0", 323) + "…"},
		"a dot":             {"echo; echo x", ".", "x"},
		"none":              {"echo x", "y", ""},
		"at the very end":   {"echo x; printf end", "end$", "end"},
		"many":              {"i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done", "line", "line 0"},
	} {
		t.Run(name, func(t *testing.T) {
			c := l.Chat(name)
			_ = start(t, c, procmgr.StartRequest{ID: "p", Command: tc.command, Notify: tc.notify, Wait: long})
			page := events(t, c, procmgr.EventsRequest{})
			want := []string{"p started", "p matched", "p exited"}
			if tc.line == "" {
				want = slices.Delete(want, 1, 2)
			} else {
				require.Equal(t, tc.line, page.Events[1].Line)
				require.LessOrEqual(t, len(page.Events[1].Line), 500)
				require.Equal(t, procmgr.Running, page.Events[1].Process.State)
			}
			require.Equal(t, want, kinds(page))
			require.True(t, slices.IsSortedFunc(page.Events, byTime), "%v", page.Events)
		})
	}
}

func byTime(a, b procmgr.Event) int { return a.At.Compare(b.At) }
