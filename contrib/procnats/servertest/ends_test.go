package servertest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// With the configuration of ../README.md, an agent that was away finds every end
// of its chat in its durable consumer, and none of another chat.
func TestEndsOfAFleet(t *testing.T) {
	f := newFleet(t)
	alice := f.connect(t, "alice")
	js, err := jetstream.NewWithAPIPrefix(alice.Conn, "STORE")
	require.NoError(t, err)
	_, err = js.CreateConsumer(t.Context(), "TOOLPROC_ENDS", jetstream.ConsumerConfig{
		Durable: "alice", FilterSubject: procnats.EndsSubject("alice-1"),
	})
	require.NoError(t, err)
	alice.Close()

	for i := range 3 {
		for _, chat := range []string{"alice-1", "bob-1"} {
			run(t, f.local.Chat(chat), fmt.Sprint("p", i), fmt.Sprint("exit ", i))
		}
	}
	js, err = jetstream.NewWithAPIPrefix(f.connect(t, "alice").Conn, "STORE")
	require.NoError(t, err)
	consumer, err := js.Consumer(t.Context(), "TOOLPROC_ENDS", "alice")
	require.NoError(t, err)
	require.Equal(t, []string{"build alice-1 p0 0", "build alice-1 p1 1", "build alice-1 p2 2"}, ends(t, consumer, 3))
	require.Eventually(t, func() bool {
		info, err := consumer.Info(t.Context())
		return err == nil && info.NumPending == 0 && info.NumAckPending == 0
	}, long, time.Millisecond, "it may acknowledge them")
}

// run runs a command to its end.
func run(t testing.TB, m procmgr.Manager, id, command string) {
	t.Helper()
	out, err := m.Start(t.Context(), procmgr.StartRequest{ID: id, Command: command, Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, out.Process.State)
}

// ends reads so many different ends and acknowledges them. A message that comes
// again does not count.
func ends(t *testing.T, consumer jetstream.Consumer, n int) (all []string) {
	t.Helper()
	seen := make(map[string]bool)
	for len(all) < n {
		msg, err := consumer.Next(jetstream.FetchMaxWait(long))
		require.NoError(t, err, "%v", all)
		e, err := procnats.ParseEnd(msg)
		require.NoError(t, err)
		require.NoError(t, msg.Ack())
		if key := e.Host + " " + e.Process.ChatID + " " + e.Key; !seen[key] {
			seen[key] = true
			all = append(all, fmt.Sprint(e.Host, " ", e.Process.ChatID, " ", e.Process.ID, " ", *e.Process.ExitCode))
		}
	}
	return all
}

// A store is a server with JetStream, and a connection that administers it.
type store struct {
	url string
	js  jetstream.JetStream
}

func newStore(t *testing.T) *store {
	t.Helper()
	url := newServer(t, &server.Options{JetStream: true, StoreDir: t.TempDir()}).ClientURL()
	return &store{url, agent(t, url)}
}

// consumer creates the stream, and a consumer of all ends.
func (s *store) consumer(t *testing.T, config jetstream.StreamConfig) jetstream.Consumer {
	t.Helper()
	_, err := s.js.CreateStream(t.Context(), config)
	require.NoError(t, err)
	consumer, err := s.js.CreateConsumer(t.Context(), "TOOLPROC_ENDS", jetstream.ConsumerConfig{Durable: "all"})
	require.NoError(t, err)
	return consumer
}

// While the machine has no connection, or the stream is not there, ends wait.
func TestEndsWait(t *testing.T) {
	for name, keep := range map[string]func(w *wire) (release func()){
		"for the connection": func(w *wire) func() {
			w.set(&w.away, true)
			w.cut()
			return func() { w.set(&w.away, false) }
		},
		"for an answer": func(w *wire) func() {
			w.set(&w.mute, true)
			return func() {
				w.cut()
				w.set(&w.mute, false)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, local := newStore(t), newLocal(t)
			consumer := s.consumer(t, procnats.EndsConfig())
			w := &wire{}
			serve(t, connect(t, s.url, w.option()), "build", newHandler(t, local), &procnats.Options{Host: local, Ends: true})
			run(t, local.Chat("a"), "before", "exit 1")
			require.Equal(t, []string{"build a before 1"}, ends(t, consumer, 1))
			release := keep(w)
			var want []string
			for i := range 5 {
				run(t, local.Chat("a"), fmt.Sprint("p", i), fmt.Sprint("exit ", i))
				want = append(want, fmt.Sprintf("build a p%d %d", i, i))
			}
			release()
			require.ElementsMatch(t, want, ends(t, consumer, 5))
		})
	}
	t.Run("for the stream", func(t *testing.T) {
		t.Parallel()
		s, local := newStore(t), newLocal(t)
		serve(t, connect(t, s.url), "build", newHandler(t, local), &procnats.Options{Host: local, Ends: true})
		run(t, local.Chat("a"), "x", "exit 1")
		require.Equal(t, []string{"build a x 1"}, ends(t, s.consumer(t, procnats.EndsConfig()), 1))
	})
}

// A machine that serves again, as after a deployment with a keeper, publishes what it knows
// again, with the same keys, and what has ended meanwhile.
func TestEndsTwice(t *testing.T) {
	s, local := newStore(t), newLocal(t)
	config := procnats.EndsConfig()
	config.Duplicates = 100 * time.Millisecond // a server that remembers longer drops them itself
	consumer := s.consumer(t, config)
	for _, id := range []string{"before", "meanwhile"} {
		run(t, local.Chat("a"), id, "exit 1")
		m := serve(t, connect(t, s.url), "build", newHandler(t, local), &procnats.Options{Host: local, Ends: true})
		require.NoError(t, m.Close())
		time.Sleep(2 * config.Duplicates)
	}
	var ids, keys []string
	for range 3 {
		msg, err := consumer.Next(jetstream.FetchMaxWait(long))
		require.NoError(t, err)
		e, err := procnats.ParseEnd(msg)
		require.NoError(t, err)
		ids, keys = append(ids, e.Process.ID), append(keys, e.Key)
	}
	require.Equal(t, "before", ids[0])
	require.ElementsMatch(t, []string{"before", "meanwhile"}, ids[1:])
	require.Contains(t, keys[1:], keys[0])
}

// The ends of a Host's Close are published, too.
func TestEndsOfClose(t *testing.T) {
	s := newStore(t)
	consumer := s.consumer(t, procnats.EndsConfig())
	local, err := proclocal.New(nil)
	require.NoError(t, err)
	m := serve(t, connect(t, s.url), "build", newHandler(t, local), &procnats.Options{Host: local, Ends: true})
	_, err = local.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "exec sleep 1000", Background: true})
	require.NoError(t, err)
	require.NoError(t, local.Close())
	require.NoError(t, m.Close())
	require.Equal(t, []string{"build a x 143"}, ends(t, consumer, 1))
}

// A forgetful host has dropped the older half of its events, once.
type forgetful struct {
	*proclocal.Local
	once sync.Once
}

func (f *forgetful) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	page, err := f.Local.Events(ctx, req)
	f.once.Do(func() {
		page.Events, page.Gap = page.Events[len(page.Events)/2:], true
	})
	return page, err
}

// If events were dropped, the machine looks the ends up in its list. An end that
// is in both has one key.
func TestEndsOfAGap(t *testing.T) {
	s, local := newStore(t), newLocal(t)
	consumer := s.consumer(t, procnats.EndsConfig())
	var want []string
	for i := range 6 {
		run(t, local.Chat("a"), fmt.Sprint("p", i), fmt.Sprint("exit ", i))
		want = append(want, fmt.Sprintf("build a p%d %d", i, i))
	}
	_, err := local.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "lives", Command: "exec sleep 1000", Background: true})
	require.NoError(t, err)
	m := serve(t, connect(t, s.url), "build", newHandler(t, local), &procnats.Options{Host: &forgetful{Local: local}, Ends: true})
	require.ElementsMatch(t, want, ends(t, consumer, 6))
	require.NoError(t, m.Close())
	info, err := consumer.Info(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.NumPending, "an end that is in the list and in the events has one message")
}
