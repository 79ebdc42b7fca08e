package servertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/procroute"
)

// newJetStream runs a server with JetStream and the bucket of newPlacer.
func newJetStream(t testing.TB) (url string) {
	t.Helper()
	url = newServer(t, &server.Options{JetStream: true, StoreDir: t.TempDir()}).ClientURL()
	_, err := agent(t, url).CreateKeyValue(t.Context(), procnats.PlacesConfig("places"))
	require.NoError(t, err)
	return url
}

// agent returns the JetStream of an agent with a connection of its own.
func agent(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(connect(t, url))
	require.NoError(t, err)
	return js
}

// newPlacer returns the Placer of an agent with a connection of its own.
func newPlacer(t testing.TB, url string, choose procnats.ChooseFunc) *procnats.Placer {
	t.Helper()
	p, err := procnats.NewPlacer(agent(t, url), "places", choose)
	require.NoError(t, err)
	return p
}

// serveLocal serves a Local as a machine.
func serveLocal(t testing.TB, url, name string) *procnats.Service {
	t.Helper()
	local := newLocal(t)
	return serve(t, connect(t, url), name, newHandler(t, local), &procnats.Options{Host: local})
}

// Agents that place the same chats at the same time all get the choice of one, and so
// do agents that move one.
func TestPlaceOnce(t *testing.T) {
	url := newJetStream(t)
	serveLocal(t, url, "east")
	const agents, chats = 4, 25
	var asked atomic.Int32
	got, moved := make([][chats]string, agents), make([]string, agents)
	placers := make([]*procnats.Placer, agents)
	var wg sync.WaitGroup
	for a := range agents {
		placers[a] = newPlacer(t, url, func(_ context.Context, chat string, machines []procnats.Machine) (string, error) {
			if len(machines) != 1 || machines[0].Name != "east" {
				return "", fmt.Errorf("the machines are %v", machines)
			}
			return fmt.Sprintf("choice-%d", asked.Add(1)), nil // it need not be there
		})
		for c := range chats {
			wg.Go(func() {
				host, err := placers[a].Place(t.Context(), fmt.Sprintf("chat %d", c))
				if err != nil {
					t.Error(err)
				}
				got[a][c] = host
			})
		}
	}
	wg.Wait()
	for a := range agents {
		require.Equal(t, got[0], got[a])
		wg.Go(func() {
			host, err := placers[a].Move(t.Context(), "chat 0", got[0][0])
			if err != nil {
				t.Error(err)
			}
			moved[a] = host
		})
	}
	wg.Wait()
	for a := range agents {
		require.Equal(t, moved[0], moved[a])
	}
	require.NotEqual(t, got[0][0], moved[0])
	got[0][0] = moved[0]
	later := newPlacer(t, url, func(context.Context, string, []procnats.Machine) (string, error) {
		return "", errors.New("nobody needs a choice")
	})
	for c, host := range got[0] {
		require.True(t, strings.HasPrefix(host, "choice-"), host)
		again, err := later.Place(t.Context(), fmt.Sprintf("chat %d", c))
		require.NoError(t, err)
		require.Equal(t, host, again)
	}
}

// A chat stays with a machine that has left. Its calls fail with the machine's
// name, and nothing was sent. Only Move takes it elsewhere.
func TestPlaceOfMachineThatHasLeft(t *testing.T) {
	url := newJetStream(t)
	east := serveLocal(t, url, "east")
	p, other := newPlacer(t, url, nil), newPlacer(t, url, nil)
	host, err := p.Place(t.Context(), "chat")
	require.NoError(t, err)
	require.Equal(t, "east", host)
	require.NoError(t, east.Close())
	serveLocal(t, url, "west")

	for _, p := range []*procnats.Placer{p, other} {
		host, err = p.Place(t.Context(), "chat")
		require.NoError(t, err)
		require.Equal(t, "east", host)
	}
	nc := connect(t, url)
	chat := procroute.New(procnats.NewRouter(nc, p, &prochttp.ClientOptions{Retry: -1}), nil).Chat("chat")
	routed := time.Now()
	out, err := chat.Start(t.Context(), procmgr.StartRequest{ID: "one", Command: "true"})
	require.ErrorContains(t, err, `"east": no machine has this name`)
	require.NotErrorIs(t, err, procmgr.ErrUnknown)
	require.Empty(t, out.Process.ID)

	host, err = p.Move(t.Context(), "chat", "south")
	require.NoError(t, err)
	require.Equal(t, "east", host, "the chat is not on south")
	require.Eventually(t, func() bool {
		host, err = p.Move(t.Context(), "chat", "east")
		return err == nil && host == "west"
	}, long, 50*time.Millisecond, "until the list of machines is asked for again")
	host, err = newPlacer(t, url, nil).Move(t.Context(), "chat", "east")
	require.NoError(t, err)
	require.Equal(t, "west", host, "another agent was faster")
	_, err = chat.Start(t.Context(), procmgr.StartRequest{ID: "one", Command: "echo west", Age: time.Since(routed)})
	require.ErrorIs(t, err, procmgr.ErrUnknown, "west is older, and it may have run on east")
	out, err = chat.Start(t.Context(), procmgr.StartRequest{ID: "one", Command: "echo west", Wait: long})
	require.NoError(t, err)
	require.Equal(t, "west\n", out.Text)
}

// LeastLoad spreads the chats of a moment, though no machine has told its load
// anew.
func TestLeastLoad(t *testing.T) {
	url := newJetStream(t)
	for _, name := range []string{"east", "south", "west"} {
		serveLocal(t, url, name)
	}
	p := newPlacer(t, url, nil)
	all, err := p.Machines(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 3)
	for i, name := range []string{"east", "south", "west"} {
		require.Equal(t, name, all[i].Name)
		require.Zero(t, all[i].Load.Running)
		require.Positive(t, all[i].Load.CPUs)
	}
	chats := make(map[string]int)
	for i := range 12 {
		host, err := p.Place(t.Context(), fmt.Sprint(i))
		require.NoError(t, err)
		chats[host]++
	}
	for _, name := range []string{"east", "south", "west"} {
		require.InDelta(t, 4, chats[name], 2, "%v", chats) // a new list may come meanwhile
	}

	busy := procnats.Machine{Name: "busy", Load: procnats.Load{Running: 9, CPUs: 8}}
	small := procnats.Machine{Name: "small", Load: procnats.Load{Running: 2, CPUs: 1}}
	host, err := procnats.LeastLoad(t.Context(), "chat", []procnats.Machine{small, busy})
	require.NoError(t, err)
	require.Equal(t, "busy", host, "it has more processors")
}

// What cannot be placed is an error that says why.
func TestPlaceErrors(t *testing.T) {
	url := newJetStream(t)
	refused := errors.New("no budget")
	var host string
	var err error
	choose := func(context.Context, string, []procnats.Machine) (string, error) { return host, err }
	p := newPlacer(t, url, nil)
	place := func(chat string) error {
		_, err := p.Place(t.Context(), chat)
		return err
	}
	require.ErrorContains(t, place("chat"), "no machine has answered")

	serveLocal(t, url, "east")
	p = newPlacer(t, url, choose)
	host, err = "no.name", nil
	require.ErrorIs(t, place("chat"), procmgr.ErrInvalid)
	host, err = "", refused
	require.ErrorIs(t, place("chat"), refused)
	host, err = "east", nil
	for _, chat := range []string{"", "\x00", "\xff", strings.Repeat("x", 257)} {
		require.ErrorIs(t, place(chat), procmgr.ErrInvalid, "%q", chat)
		require.ErrorIs(t, p.Forget(t.Context(), chat), procmgr.ErrInvalid, "%q", chat)
	}
	require.NoError(t, place(strings.Repeat("ä", 128)))
	require.NoError(t, place("chat"))
	serveLocal(t, url, "west")
	require.Eventually(t, func() bool {
		_, err := p.Move(t.Context(), "chat", "east")
		return errors.Is(err, procmgr.ErrInvalid)
	}, long, 50*time.Millisecond, "the machine to leave was chosen")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, canceled := p.Place(ctx, "another")
	require.ErrorIs(t, canceled, context.Canceled)

	_, noBucket := procnats.NewPlacer(agent(t, url), "no bucket", nil)
	require.ErrorIs(t, noBucket, jetstream.ErrInvalidBucketName)
	_, noBucket = procnats.NewPlacer(agent(t, url), "nowhere", nil)
	require.ErrorIs(t, noBucket, jetstream.ErrBucketNotFound)
}

// Machines behind a Router are one Host: each chat has its machine, and the host
// has all of them, or says which is missing.
func TestRouter(t *testing.T) {
	url := newJetStream(t)
	east := serveLocal(t, url, "east")
	serveLocal(t, url, "west")
	var next atomic.Int32
	placer := newPlacer(t, url, func(_ context.Context, _ string, machines []procnats.Machine) (string, error) {
		return machines[int(next.Add(1))%len(machines)].Name, nil
	})
	router := procnats.NewRouter(connect(t, url), placer, &prochttp.ClientOptions{Retry: -1})
	h := procroute.New(router, nil)
	for i := range 4 {
		chat := h.Chat(fmt.Sprint(i))
		for range 2 { // an ID runs once, also over two machines
			out, err := chat.Start(t.Context(), procmgr.StartRequest{ID: "p", Command: "echo $TOOLPROC_CHAT_ID", Wait: long})
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintln(i), out.Text)
		}
	}
	page, err := h.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Len(t, page.Processes, 4)
	_, err = h.Output(t.Context(), "p", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrConflict)

	require.NoError(t, east.Close())
	page, err = h.List(t.Context(), procmgr.ListRequest{})
	var partial *procmgr.PartialError
	require.ErrorAs(t, err, &partial)
	require.Contains(t, partial.Missing, "east")
	require.Len(t, partial.Missing, 1)
	require.Len(t, page.Processes, 2)
}
