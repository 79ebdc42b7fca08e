package servertest_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A stage is an agent and a machine, each with a wire to the server.
type stage struct {
	server         *server.Server
	agent, machine *wire
	nc             *nats.Conn // of the machine
	local          *proclocal.Local
	client         *prochttp.Client
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{server: newServer(t, nil), local: newLocal(t), agent: &wire{}, machine: &wire{}}
	s.nc = connect(t, s.server.ClientURL(), s.machine.option(), nats.ReconnectBufSize(nats.DefaultReconnectBufSize)) // only agents need another one
	serve(t, s.nc, "build", newHandler(t, s.local), nil)
	s.client = newImpatient(t, connect(t, s.server.ClientURL(), s.agent.option()), "build")
	return s
}

// newImpatient returns a client that soon asks whether the machine is there.
func newImpatient(t testing.TB, nc *nats.Conn, name string) *prochttp.Client {
	t.Helper()
	return newClientOver(t, impatient(procnats.Transport(nc, name)), 0)
}

// impatient has a transport soon ask whether the machine is there.
func impatient(transport http.RoundTripper) http.RoundTripper {
	transport.(interface{ AskAfter(silence time.Duration) }).AskAfter(50 * time.Millisecond)
	return transport
}

// A held command notes that it runs, and ends when it is let go.
// It ends by itself when the test has gone.
type held struct{ command, dir string }

func newHeld(t testing.TB) held {
	t.Helper()
	dir := filepath.ToSlash(t.TempDir())
	return held{dir: dir, command: "echo ran >> " + dir + "/ran; while [ -d " + dir + " ] && [ ! -e " + dir + "/go ]; do sleep 0.01; done; echo done; exit 7"}
}

func (h held) ran(t testing.TB) int {
	data, err := os.ReadFile(h.dir + "/ran")
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	return strings.Count(string(data), "ran\n")
}

func (h held) begun(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool { return h.ran(t) > 0 }, long, time.Millisecond)
}

func (h held) let(t testing.TB) {
	t.Helper()
	require.NoError(t, os.WriteFile(h.dir+"/go", nil, 0o600))
}

// starting starts a held command in the background of the test, with a long wait.
func starting(t *testing.T, host procmgr.Host, h held) chan func() (procmgr.Output, error) {
	t.Helper()
	results := make(chan func() (procmgr.Output, error), 1)
	go func() {
		out, err := host.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: h.command, Wait: time.Hour})
		results <- func() (procmgr.Output, error) { return out, err }
	}()
	return results
}

// Whatever is cut in the midst of a start, the command runs once, and its caller
// gets the result.
func TestCutInAStart(t *testing.T) {
	for name, cut := range map[string]func(*stage) []*wire{
		"the agent":   func(s *stage) []*wire { return []*wire{s.agent} },
		"the machine": func(s *stage) []*wire { return []*wire{s.machine} },
		"the server":  func(s *stage) []*wire { return []*wire{s.agent, s.machine} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, h := newStage(t), newHeld(t)
			result := starting(t, s.client, h)
			h.begun(t)
			for _, w := range cut(s) {
				w.set(&w.away, true)
				w.cut()
			}
			if name == "the server" {
				s.server.Shutdown()
				s.server.WaitForShutdown()
				url := newServer(t, nil).ClientURL()
				s.agent.move(url)
				s.machine.move(url)
			}
			h.let(t)
			_, err := s.local.Chat("a").Output(t.Context(), "x", procmgr.OutputRequest{Wait: long}) // its answer is lost
			require.NoError(t, err)
			for _, w := range cut(s) {
				w.set(&w.away, false)
			}
			began := time.Now()
			out, err := (<-result)()
			require.NoError(t, err)
			require.Less(t, time.Since(began), long/2, "the caller has noticed the cut, and not the end of a slice")
			require.Equal(t, procmgr.Exited, out.Process.State)
			require.Equal(t, 7, *out.Process.ExitCode)
			require.Equal(t, "done\n", out.Text)
			require.Equal(t, 1, h.ran(t))
		})
	}
}

// The answer of a machine is lost with its connection, and it is back before its caller
// asks. The caller learns from the machine's new link that the answer may be lost.
func TestMachineIsBackAtOnce(t *testing.T) {
	t.Parallel()
	s, h := newStage(t), newHeld(t)
	transport := procnats.Transport(connect(t, s.server.ClientURL()), "build")
	transport.(interface{ AskAfter(silence time.Duration) }).AskAfter(time.Second)
	c := newClientOver(t, transport, 0)
	_, err := c.List(t.Context(), procmgr.ListRequest{}) // its answer has the link
	require.NoError(t, err)
	result := starting(t, c, h)
	h.begun(t)
	sent := s.nc.Stats().OutMsgs
	s.machine.set(&s.machine.mute, true)
	h.let(t)
	require.Eventually(t, func() bool {
		left, err := s.nc.Buffered()
		return err == nil && left == 0 && s.nc.Stats().OutMsgs > sent
	}, long, time.Millisecond)
	s.machine.set(&s.machine.mute, false)
	s.machine.cut()
	began := time.Now()
	out, err := (<-result)()
	require.NoError(t, err)
	require.Less(t, time.Since(began), long/2)
	require.Equal(t, 7, *out.Process.ExitCode)
	require.Equal(t, 1, h.ran(t))
}

// While there is no connection, nothing is sent, and nothing is kept to be sent
// later.
func TestNothingIsSentLater(t *testing.T) {
	for name, noticed := range map[string]bool{"the agent knows": true, "the agent may not know yet": false} {
		t.Run(name, func(t *testing.T) {
			s, h := newStage(t), newHeld(t)
			nc := connect(t, s.server.ClientURL(), s.agent.option())
			m := newImpatient(t, nc, "build").Chat("a")
			_, err := m.List(t.Context(), procmgr.ListRequest{})
			require.NoError(t, err)
			s.agent.set(&s.agent.away, true)
			s.agent.cut()
			if noticed {
				require.Eventually(t, func() bool { return !nc.IsConnected() }, long, time.Millisecond)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			out, err := m.Start(ctx, procmgr.StartRequest{ID: "x", Command: h.command})
			require.Error(t, err)
			require.NotErrorIs(t, err, procmgr.ErrUnknown)
			if noticed {
				require.Empty(t, out.Process.ID)
			} // else it may have been written to a connection that was already cut, so it is unknown whether it was sent
			s.agent.set(&s.agent.away, false)
			_, err = m.List(t.Context(), procmgr.ListRequest{})
			require.NoError(t, err)
			_, err = newClient(t, connect(t, s.server.ClientURL()), "build").Chat("a").Output(t.Context(), "x", procmgr.OutputRequest{})
			require.ErrorIs(t, err, procmgr.ErrNotFound)
			require.Zero(t, h.ran(t))
		})
	}
}

// A machine that is gone is found before the time of a wait is up, whether its
// connection has ended, it is there again as another one, or it just says nothing.
func TestMachineDiesInAWait(t *testing.T) {
	for name, die := range map[string]func(*testing.T, *stage){
		"gone": func(_ *testing.T, s *stage) { s.nc.Close() },
		"silent": func(t *testing.T, s *stage) {
			s.machine.set(&s.machine.mute, true)
			t.Cleanup(func() { s.machine.set(&s.machine.mute, false) })
		},
		"another": func(t *testing.T, s *stage) {
			s.nc.Close()
			serve(t, connect(t, s.server.ClientURL()), "build", newHandler(t, newLocal(t)), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, h := newStage(t), newHeld(t)
			c := newClientOver(t, impatient(procnats.Transport(connect(t, s.server.ClientURL(), s.agent.option()), "build")), -1)
			result := starting(t, c, h)
			h.begun(t)
			die(t, s)
			out, err := (<-result)()
			require.ErrorIs(t, err, procmgr.ErrUnknown)
			require.Equal(t, "x", out.Process.ID)
			require.Equal(t, 1, h.ran(t))
			h.let(t)
			ended, err := s.local.Chat("a").Output(t.Context(), "x", procmgr.OutputRequest{Wait: long})
			require.NoError(t, err)
			require.Equal(t, procmgr.Exited, ended.Process.State)
		})
	}
}

// A busy machine says so, and its callers come again. It has room as soon as a caller
// gives a call up.
func TestBusyMachine(t *testing.T) {
	url := newServer(t, nil).ClientURL()
	serve(t, connect(t, url), "build", newHandler(t, newLocal(t)), &procnats.Options{MaxCalls: 1})
	c := newClient(t, connect(t, url), "build")
	h := newHeld(t)
	_, err := c.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: h.command, Background: true})
	require.NoError(t, err)
	waits := make(chan error)
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		_, err := c.Chat("a").Output(ctx, "x", procmgr.OutputRequest{Wait: time.Hour})
		waits <- err
	}()
	once := newClientOver(t, procnats.Transport(connect(t, url), "build"), -1)
	require.Eventually(t, func() bool {
		_, err := once.Chat("a").List(t.Context(), procmgr.ListRequest{})
		return errors.Is(err, procmgr.ErrLimit)
	}, long, time.Millisecond)
	giveUp()
	require.ErrorIs(t, <-waits, context.Canceled)
	_, err = c.Chat("a").List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
}

// What no message can carry is an error that says so.
func TestTooLong(t *testing.T) {
	url := newServer(t, &server.Options{MaxPayload: 64 << 10}).ClientURL()
	serve(t, connect(t, url), "build", newHandler(t, newLocal(t)), nil)
	m := newClient(t, connect(t, url), "build").Chat("a")

	out, err := m.Start(t.Context(), procmgr.StartRequest{ID: "long", Command: "true " + strings.Repeat("x", 64<<10), Wait: long})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.NotErrorIs(t, err, procmgr.ErrUnknown)
	require.ErrorContains(t, err, "65536 (max_payload)")
	require.Empty(t, out.Process.ID, "nothing was sent")

	out, err = m.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "head -c 30000 /dev/zero | tr '\\0' '\\1'; exit 3", Wait: long})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "ask for less text")
	require.Equal(t, "x", out.Process.ID, "it has begun")
	require.Equal(t, 3, *out.Process.ExitCode)
	read := procmgr.OutputRequest{}
	read.Limit.Bytes = 4000
	out, err = m.Output(t.Context(), "x", read)
	require.NoError(t, err)
	require.NotEmpty(t, out.Text)
}

// Two machines cannot have one name, and a name has to fit into a subject. What cannot be
// served is refused, too.
func TestNames(t *testing.T) {
	url := newServer(t, nil).ClientURL()
	handler := newHandler(t, newLocal(t))
	first := serve(t, connect(t, url), "build", handler, nil)
	_, err := procnats.Serve(t.Context(), connect(t, url), "build", handler, nil)
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.NoError(t, first.Close())
	require.NoError(t, first.Close())
	serve(t, connect(t, url), "build", handler, nil)
	for _, name := range []string{"", "a.b", "a b", "*", ">", "ends", strings.Repeat("x", 65)} {
		_, err := procnats.Serve(t.Context(), connect(t, url), name, handler, nil)
		require.ErrorIs(t, err, procmgr.ErrInvalid, name)
		_, err = newClient(t, connect(t, url), name).Chat("a").List(t.Context(), procmgr.ListRequest{})
		require.ErrorIs(t, err, procmgr.ErrInvalid, name)
	}
	_, err = procnats.Serve(t.Context(), connect(t, url), "other", http.NotFoundHandler(), nil)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	_, err = procnats.Serve(t.Context(), connect(t, url), "other", handler, &procnats.Options{Ends: true})
	require.ErrorIs(t, err, procmgr.ErrInvalid, "whose ends?")
}

// A machine that has lost its power, and is there again, waits until the server
// has noticed that its old connection is dead.
func TestServeAfterAPowerCut(t *testing.T) {
	s := newStage(t)
	s.machine.set(&s.machine.mute, true)
	s.machine.set(&s.machine.away, true)
	served, left := make(chan error), make(chan struct{})
	url := s.server.ClientURL()
	again, handler := connect(t, url), newHandler(t, newLocal(t))
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		m, err := procnats.Serve(ctx, again, "build", handler, nil)
		served <- err
		if err == nil {
			<-m.Done()
		}
		close(left)
	}()
	require.Eventually(t, func() bool { return again.Stats().OutMsgs > 0 }, long, time.Millisecond)
	select {
	case err := <-served:
		require.NoError(t, err)
		require.Fail(t, "it has not waited")
	case <-time.After(50 * time.Millisecond):
	}
	s.machine.cut()
	require.NoError(t, <-served)
	_, err := newClient(t, connect(t, url), "build").List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	stop()
	<-left
}

// An answer goes to an inbox, and never to a machine or to the server: the caller
// chooses where it goes, and it is sent with the rights of the machine.
func TestAnswersGoToInboxes(t *testing.T) {
	url := newServer(t, nil).ClientURL()
	serve(t, connect(t, url), "build", newHandler(t, newLocal(t)), nil)
	nc := connect(t, url)
	for _, target := range []string{"toolproc.other." + bobChat + ".start", "$JS.API.STREAM.DELETE.x", "$KV.places.x"} {
		sub, err := nc.SubscribeSync(target)
		require.NoError(t, err)
		require.NoError(t, nc.PublishRequest("toolproc.build."+bobChat+".list", target, list))
		_, err = newClient(t, nc, "build").Chat("a").List(t.Context(), procmgr.ListRequest{}) // answered after the first request
		require.NoError(t, err)
		_, err = sub.NextMsg(time.Millisecond)
		require.ErrorIs(t, err, nats.ErrTimeout, target)
	}
}
