package toolset_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A guarded Manager is no Host, and differs from any other one.
type guarded struct{ procmgr.Manager }

// stubborn is a command of a Script that does not end when it is asked to.
func stubborn(c *proctest.Command) int {
	c.Sleep(time.Hour)
	return 0
}

// A chat of several processes is stopped, and nothing else. If the host chooses IDs, two
// chats may use the same one.
func TestStopEndsTheForeground(t *testing.T) {
	t.Parallel()
	anew := func(s *proctest.Script) toolset.Resolver {
		return func(ctx context.Context) (procmgr.Manager, error) {
			return &guarded{s.Chat(ctx.Value(chatKey{}).(string))}, nil
		}
	}
	for _, tt := range []struct {
		name     string
		resolver func(*proctest.Script) toolset.Resolver
		own, not string // the chats of ended and of spared processes
	}{
		{"a chat", func(s *proctest.Script) toolset.Resolver { return toolset.Static(s.Chat("a")) }, "a", "b"},
		{"a chat of the context", func(s *proctest.Script) toolset.Resolver {
			return func(ctx context.Context) (procmgr.Manager, error) { return s.Chat(ctx.Value(chatKey{}).(string)), nil }
		}, "a", "b"},
		{"a Manager anew at each call", anew, "a", "b"},
		{"the same ID in each chat of the context", anew, "a", "b"},
		{"a host", func(s *proctest.Script) toolset.Resolver { return toolset.Static(s) }, "", "a"},
		{"a host of the context", func(s *proctest.Script) toolset.Resolver {
			return func(ctx context.Context) (procmgr.Manager, error) {
				if chat := ctx.Value(chatKey{}).(string); chat != "" {
					return s.Chat(chat), nil
				}
				return s, nil
			}
		}, "", "a"},
		{"a host behind a guard", func(s *proctest.Script) toolset.Resolver { return toolset.Static(&guarded{s}) }, "", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				host := proctest.NewScript()
				defer func() { require.NoError(t, host.Close()) }()
				host.On("sleep", stubborn)
				opts := &toolset.Options{}
				if strings.HasPrefix(tt.name, "the same ID") {
					opts = fixed()
				}
				set := newSet(tt.resolver(host), opts)
				ctx := context.WithValue(t.Context(), chatKey{}, tt.own)
				call := func(ctx context.Context, tool, arguments string) toolset.Result {
					return set.Call(ctx, toolset.Call{Name: tool, Arguments: []byte(arguments)})
				}
				start := func(chat string, background bool) (id string) {
					m := procmgr.Manager(host)
					if chat != "" {
						m = host.Chat(chat)
					}
					out, err := m.Start(t.Context(), procmgr.StartRequest{Command: "sleep", Background: background})
					require.NoError(t, err)
					return out.Process.ID
				}
				server, other, otherChat := start(tt.own, true), start(tt.own, false), start(tt.not, false)
				var waits sync.WaitGroup
				var run, read, elsewhere toolset.Result
				waits.Go(func() { run = call(ctx, "execute", `{"command":"sleep","timeout":"1h"}`) })
				waits.Go(func() { read = call(ctx, "process_output", `{"process_id":"`+server+`","wait_timeout":"1h"}`) })
				if strings.HasSuffix(tt.name, "of the context") {
					waits.Go(func() {
						elsewhere = call(context.WithValue(t.Context(), chatKey{}, tt.not), "execute", `{"command":"sleep","timeout":"1m"}`)
					})
				}
				synctest.Wait()
				ended, err := set.Stop(ctx)
				require.NoError(t, err)
				waits.Wait()

				require.Len(t, ended, 2)
				for _, p := range ended {
					require.Contains(t, []string{other, run.Output.Process.ID}, p.ID)
					require.Equal(t, tt.own, p.ChatID)
					require.Equal(t, procmgr.Exited, p.State)
				}
				require.Equal(t, "stopped by the user; the command was stopped", run.Report.Error)
				require.False(t, run.Report.Success)
				require.Equal(t, "stopped by the user; process "+server+" was left alone", read.Report.Error)
				require.NotContains(t, elsewhere.Content, "stopped by the user")
				for _, id := range []string{server, otherChat} {
					out, err := host.Output(t.Context(), id, procmgr.OutputRequest{})
					require.NoError(t, err)
					require.Equal(t, procmgr.Running, out.Process.State)
				}
				ended, err = set.Stop(ctx)
				require.NoError(t, err)
				require.Empty(t, ended)
			})
		})
	}
}

// A call that is starting a process is stopped, too.
func TestStopOfAStart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, arguments string
		signal, output  error // the answers of the manager
		deaf            bool  // Start does not look at its context
		anew            bool  // each call has a Manager of its own
		signals         []procmgr.Signal
		want            string
	}{
		{"foreground", `{"command":"x"}`, procmgr.ErrNotFound, procmgr.ErrNotFound, false, false,
			[]procmgr.Signal{"terminate", "terminate"}, "stopped by the user; the command was not started"},
		{"background", `{"command":"x","run_in_background":true}`, procmgr.ErrNotFound, procmgr.ErrNotFound, false, false,
			[]procmgr.Signal{"terminate"}, "stopped by the user; the command was not started"},
		{"deaf", `{"command":"x"}`, nil, nil, true, false,
			[]procmgr.Signal{"terminate", "terminate"}, "stopped by the user; the command was stopped"},
		{"of a Manager of its own", `{"command":"x"}`, procmgr.ErrNotFound, procmgr.ErrNotFound, true, true,
			[]procmgr.Signal{"terminate"}, "one that was stopped before it began"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sent := make(chan struct{}, 9)
				m := &fake{
					start: func(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
						if tt.deaf {
							<-sent
							if tt.anew {
								return procmgr.Output{}, procmgr.ErrConflict // the signal has spent the ID
							}
							return running(req.ID, ""), nil
						}
						<-ctx.Done()
						return procmgr.Output{}, ctx.Err()
					},
					output: func(_ context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
						return exited(id, 143, ""), tt.output
					},
					signal: func(context.Context, string, procmgr.Signal) error {
						sent <- struct{}{}
						return tt.signal
					},
				}
				set := newSet(func(context.Context) (procmgr.Manager, error) {
					if tt.anew {
						return &guarded{m}, nil
					}
					return m, nil
				}, nil)
				var calls sync.WaitGroup
				var res toolset.Result
				calls.Go(func() { res = set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(tt.arguments)}) })
				synctest.Wait()
				ended, err := set.Stop(t.Context())
				require.NoError(t, err)
				calls.Wait()
				require.Equal(t, tt.deaf && !tt.anew, len(ended) > 0)
				require.Contains(t, res.Report.Error, tt.want)
				require.Equal(t, tt.signals, m.signals)
			})
		})
	}
}

// A start that arrives while Stop looks is found, although each call has a Manager of its own.
func TestStopOfALateStart(t *testing.T) {
	t.Parallel()
	for name, chosen := range map[string]bool{"a chosen ID": true, "a random ID": false} {
		for _, at := range []string{"list", "output"} {
			t.Run(name+", "+at, func(t *testing.T) {
				t.Parallel()
				host := newHost(t, nil)
				l := &lateStart{at: at, sent: make(chan string, 1), arrive: make(chan struct{})}
				opts := &toolset.Options{}
				if chosen {
					opts = fixed()
				}
				set := newSet(func(context.Context) (procmgr.Manager, error) {
					return &lateManager{host.Chat("a"), l}, nil
				}, opts)
				var calls sync.WaitGroup
				calls.Go(func() {
					set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"exec sleep 1000"}`)})
				})
				l.id = <-l.sent
				_, err := set.Stop(t.Context())
				require.NoError(t, err)
				l.arrives()
				calls.Wait()
				page, err := host.List(t.Context(), procmgr.ListRequest{State: procmgr.Running})
				require.NoError(t, err)
				require.Empty(t, page.Processes)
			})
		}
	}
}

// A lateStart arrives after a first List, or after a first Output.
type lateStart struct {
	at, id string
	sent   chan string
	arrive chan struct{}
	once   sync.Once
}

func (l *lateStart) arrives() { l.once.Do(func() { close(l.arrive) }) }

type lateManager struct {
	procmgr.Manager
	*lateStart
}

func (m *lateManager) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	m.sent <- req.ID
	<-m.arrive
	return m.Manager.Start(context.WithoutCancel(ctx), req)
}

func (m *lateManager) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	page, err := m.Manager.List(ctx, req)
	for m.at == "list" {
		m.arrives()
		if _, err := m.Manager.Output(ctx, m.id, procmgr.OutputRequest{}); err == nil {
			break
		}
	}
	return page, err
}

func (m *lateManager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, err := m.Manager.Output(ctx, id, req)
	if m.at == "output" && errors.Is(err, procmgr.ErrNotFound) {
		m.arrives()
	}
	return out, err
}

// A process that cannot be ended is reported.
func TestStopFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		survives := errors.New("12 survives")
		m := &fake{
			list: func(context.Context) ([]procmgr.Process, error) {
				return []procmgr.Process{{ID: "p1", State: procmgr.Running}}, nil
			},
			output: func(_ context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				time.Sleep(req.Wait)
				return running(id, ""), nil
			},
			signal: func(_ context.Context, _ string, sig procmgr.Signal) error {
				return map[procmgr.Signal]error{procmgr.Kill: survives}[sig]
			},
		}
		began := time.Now()
		ended, err := newSet(toolset.Static(m), nil).Stop(t.Context())
		require.ErrorIs(t, err, survives)
		require.Equal(t, 2*time.Second, time.Since(began))
		require.Equal(t, []procmgr.Signal{"terminate", "kill"}, m.signals)
		require.Len(t, ended, 1)
		require.Equal(t, procmgr.Running, ended[0].State)
	})
	_, err := newSet(nowhere, nil).Stop(t.Context())
	require.EqualError(t, err, "toolset: stop: there is none")
}
