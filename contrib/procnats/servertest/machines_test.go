package servertest_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procroute"
)

// Two agents place chats on 20 machines and start commands there, while connections are
// cut at random, and the server is restarted. Each command runs once, its caller gets
// the result, and its end is published.
func TestHeldFleet(t *testing.T) {
	longTest(t)
	const machines, agents, chats, each = 20, 2, 60, 4
	store := t.TempDir()
	first := newServer(t, &server.Options{JetStream: true, StoreDir: store})
	url, port, wires := first.ClientURL(), first.Addr().(*net.TCPAddr).Port, make([]wire, machines+agents)

	admin, err := jetstream.New(connect(t, url))
	require.NoError(t, err)
	_, err = admin.CreateStream(t.Context(), procnats.EndsConfig())
	require.NoError(t, err)
	_, err = admin.CreateKeyValue(t.Context(), procnats.PlacesConfig("places"))
	require.NoError(t, err)
	for i := range machines {
		local := newLocal(t)
		serve(t, connect(t, url, wires[i].option()), fmt.Sprint("m", i), newHandler(t, local), &procnats.Options{Host: local, Ends: true})
	}

	dir := filepath.ToSlash(t.TempDir())
	half := make(chan struct{}, agents*chats)
	var all sync.WaitGroup
	for a := range agents {
		nc := connect(t, url, wires[machines+a].option())
		js, err := jetstream.New(nc)
		require.NoError(t, err)
		placer, err := procnats.NewPlacer(js, "places", procnats.LeastLoad)
		require.NoError(t, err)
		host := procroute.New(procnats.NewRouter(nc, placer, nil), nil)
		for c := range chats {
			all.Go(func() {
				m := host.Chat(fmt.Sprintf("chat-%d-%d", a, c))
				for i := range each {
					if i == each/2 {
						half <- struct{}{}
					}
					name := fmt.Sprintf("%d-%d-%d", a, c, i)
					req := procmgr.StartRequest{ID: procmgr.NewID(), Command: fmt.Sprintf("echo ran >>%s/%s; echo %s; sleep 0.0%d; exit %d", dir, name, name, rand.N(10), i), Wait: long}
					out, err := m.Start(t.Context(), req)
					for try := 0; err != nil && try < 20; try++ { // the same ID: it attaches
						out, err = m.Start(t.Context(), req)
					}
					if err != nil || out.Process.ExitCode == nil || *out.Process.ExitCode != i || out.Text != name+"\n" {
						t.Errorf("%s: %+v: %v", name, out, err)
					}
				}
			})
		}
	}
	for n := range agents * chats / 2 {
		<-half
		wires[rand.N(len(wires))].cut()
		if n%10 == 0 {
			wires[machines+n/10%agents].cut()
		}
	}
	first.Shutdown()
	first.WaitForShutdown()
	newServer(t, &server.Options{JetStream: true, StoreDir: store, Port: port})
	all.Wait()

	for a := range agents {
		for c := range chats {
			for i := range each {
				data, err := os.ReadFile(fmt.Sprintf("%s/%d-%d-%d", dir, a, c, i))
				require.NoError(t, err)
				require.Equal(t, "ran\n", string(data), "each command runs once")
			}
		}
	}
	admin, err = jetstream.New(connect(t, url))
	require.NoError(t, err)
	consumer, err := admin.CreateConsumer(t.Context(), "TOOLPROC_ENDS", jetstream.ConsumerConfig{Durable: "all"})
	require.NoError(t, err)
	require.Len(t, ends(t, consumer, agents*chats*each), agents*chats*each)
}
