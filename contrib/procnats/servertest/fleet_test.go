package servertest_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The chats of the configuration in ../README.md, as subjects have them.
const (
	aliceChat = "C5M6IOR55KOG"
	bobChat   = "C9NM4B9H"
)

// A fleet is a server with the configuration of ../README.md, and the machine
// build.
type fleet struct {
	url   string
	local *proclocal.Local
	admin jetstream.JetStream
}

// newFleet runs one.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	s := newServer(t, fleetOptions(t))
	f := &fleet{url: s.ClientURL(), local: newLocal(t)}
	var err error
	f.admin, err = jetstream.New(f.connect(t, "admin").Conn)
	require.NoError(t, err)
	_, err = f.admin.CreateStream(t.Context(), procnats.EndsConfig())
	require.NoError(t, err)
	serve(t, f.connect(t, "build").Conn, "build", newHandler(t, f.local), &procnats.Options{Host: f.local, Ends: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	return f
}

// fleetOptions returns the options of the configuration in ../README.md, for a server
// with JetStream.
func fleetOptions(t *testing.T) *server.Options {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	_, config, found := strings.Cut(string(page), "```conf\n")
	require.True(t, found)
	config, _, _ = strings.Cut(config, "```\n")
	file := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	opts, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	opts.Port, opts.JetStream, opts.StoreDir = server.RANDOM_PORT, true, t.TempDir()
	return opts
}

// A user is a connection of a user of the configuration.
type user struct {
	*nats.Conn
	mu      sync.Mutex
	refused []string // what the server has said
}

func (f *fleet) connect(t *testing.T, name string) *user {
	t.Helper()
	u := &user{}
	u.Conn = connect(t, f.url, nats.UserInfo(name, name+"'s password"), nats.CustomInboxPrefix("_INBOX_"+name),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.refused = append(u.refused, err.Error())
		}))
	return u
}

// With the configuration, each user can do what it is for.
func TestFleet(t *testing.T) {
	f := newFleet(t)
	for user, chat := range map[string]string{"alice": "alice-1", "bob": "bob-1", "operator": "any"} {
		run(t, newClient(t, f.connect(t, user).Conn, "build").Chat(chat), "x", "true")
	}
	page, err := newClient(t, f.connect(t, "operator").Conn, "build").List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Len(t, page.Processes, 3)
}

// The user placer places chats, and finds the machines.
func TestPlacerOfAFleet(t *testing.T) {
	f := newFleet(t)
	_, err := f.admin.CreateKeyValue(t.Context(), procnats.PlacesConfig("toolproc_places"))
	require.NoError(t, err)
	js, err := jetstream.New(f.connect(t, "placer").Conn)
	require.NoError(t, err)
	p, err := procnats.NewPlacer(js, "toolproc_places", procnats.LeastLoad)
	require.NoError(t, err)
	for range 2 { // a chat that was forgotten is placed anew
		for range 2 {
			host, err := p.Place(t.Context(), "alice-1")
			require.NoError(t, err)
			require.Equal(t, "build", host)
		}
		host, err := p.Move(t.Context(), "alice-1", "gpu")
		require.NoError(t, err)
		require.Equal(t, "build", host, "it was never on gpu")
		require.NoError(t, p.Forget(t.Context(), "alice-1"))
	}
	_, err = p.Move(t.Context(), "alice-1", "build")
	require.ErrorIs(t, err, procmgr.ErrNotFound)
}
