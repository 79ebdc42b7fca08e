package main

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// hear lets a ledger hear the lines of an agent.
func hear(l *ledger, lines string) {
	for line := range strings.Lines(lines) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		l.hear("agent1", word, rest)
	}
}

// A ledger sees each way in which the promise can be broken.
func TestLedger(t *testing.T) {
	const good = "S a 1\nD a 1 ok\nE a 1 20\nS a 2\nD a 2 unknown\n"
	happened := func() map[string]ran { return map[string]ran{"a 1": {Runs: 1, Ended: true}} }
	for _, c := range []struct {
		name   string
		more   string
		change func(map[string]ran)
		want   func(*counts)
	}{
		{"all is well", "", func(map[string]ran) {}, func(*counts) {}},
		{"an end comes once more", "E a 1 30\n", func(map[string]ran) {}, func(c *counts) { c.ReadAgain = 1 }},
		{"an unknown start ran", "E a 2 30\n", func(m map[string]ran) { m["a 2"] = ran{1, true} },
			func(c *counts) { c.Ran, c.Ends = 2, 2 }},
		{"a start ran twice", "", func(m map[string]ran) { m["a 1"] = ran{2, true} }, func(c *counts) { c.Twice = 1 }},
		{"an end was missed", "", func(m map[string]ran) { m["a 2"] = ran{1, true} },
			func(c *counts) { c.Ran, c.Ends, c.Missed = 2, 2, 1 }},
		{"an acknowledged start never ran", "S b 3\nD b 3 ok\n", func(map[string]ran) {},
			func(c *counts) { c.Starts, c.Chats, c.Never, c.Outcomes["ok"] = 3, 2, 1, 2 }},
		{"nobody has sent it", "E c 4 1\n", func(m map[string]ran) { m["c 4"] = ran{1, true} },
			func(c *counts) { c.Ran, c.Ends, c.Unaccounted = 2, 2, 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger()
			hear(l, good+c.more)
			all := happened()
			c.change(all)
			want := counts{Chats: 1, Starts: 2, Outcomes: map[string]int{"ok": 1, "unknown": 1}, Ran: 1, Ends: 1}
			c.want(&want)
			got := l.compare(all)
			require.Equal(t, want, got)
			require.Equal(t, got.Twice+got.Missed+got.Never+got.Unaccounted > 0, got.failed())
		})
	}
}

// The starts whose outcome an agent has not told are those that its successor
// asks for.
func TestPending(t *testing.T) {
	l := newLedger()
	hear(l, "S a 1\nS a 2\nD a 1 ok\n")
	require.Equal(t, []string{"a 2"}, l.pending("agent1"))
	require.Empty(t, l.pending("agent2"))
}

// A simulated machine keeps the rules that the simulation counts on: an ID runs
// once, and a stop that comes first spends it.
func TestSimulated(t *testing.T) {
	b := newBegun()
	s := newSimulated(b)
	chat := s.Chat("a")
	req := procmgr.StartRequest{ID: "1", Command: "x", Wait: 2 * longest}
	out, err := chat.Start(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, out.Process.State)
	require.Equal(t, printed, out.Text)
	out, err = chat.Start(t.Context(), req)
	require.NoError(t, err)
	require.True(t, out.Attached)
	_, err = chat.Start(t.Context(), procmgr.StartRequest{ID: "1", Command: "y"})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.ErrorIs(t, chat.Signal(t.Context(), "2", procmgr.Kill), procmgr.ErrNotFound)
	_, err = chat.Start(t.Context(), procmgr.StartRequest{ID: "2", Command: "x"})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.Equal(t, map[processKey]int{{"a", "1"}: 1}, b.runs)
	require.Contains(t, b.ended, processKey{"a", "1"})

	page, err := s.Events(t.Context(), procmgr.EventsRequest{})
	require.NoError(t, err)
	require.Len(t, page.Events, 2)
	require.Equal(t, procmgr.EventExited, page.Events[1].Kind)
	again, err := s.Events(t.Context(), procmgr.EventsRequest{After: page.Next, Wait: time.Millisecond})
	require.NoError(t, err)
	require.Empty(t, again.Events)
	require.Equal(t, page.Next, again.Next)
}

// While a gate is shut, no byte passes, and afterwards each of them does.
func TestGate(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	g := newGate()
	near, err := g.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer near.Close()
	far, err := l.Accept()
	require.NoError(t, err)
	defer far.Close()

	g.shut()
	require.NoError(t, near.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
	_, err = near.Write([]byte("lost"))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	_, err = far.Write([]byte("held"))
	require.NoError(t, err)
	got := make(chan string, 1)
	go func() { // the test reads what it sends
		p := make([]byte, 4)
		_, _ = io.ReadFull(near, p)
		got <- string(p)
	}()
	select {
	case text := <-got:
		require.Fail(t, "it passed", text)
	case <-time.After(50 * time.Millisecond):
	}
	g.let()
	require.Equal(t, "held", <-got)
	require.NoError(t, near.SetWriteDeadline(time.Time{}))
	_, err = near.Write([]byte("sent"))
	require.NoError(t, err)
	p := make([]byte, 4)
	_, err = io.ReadFull(far, p)
	require.NoError(t, err)
	require.Equal(t, "sent", string(p), "what was written while the gate was shut is gone")
}

// A histogram tells its quantiles, a step of a quarter too long at most.
func TestHistogram(t *testing.T) {
	h := make(histogram)
	require.Zero(t, h.quantile(0.5))
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond} {
		require.GreaterOrEqual(t, h.quantile(q), want)
		require.LessOrEqual(t, h.quantile(q), want*5/4)
	}
}
