package procroute_test

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/procroute"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// machines is a Router with a fixed number of machines. A chat's machine goes by
// the chat's ID.
type machines map[string]procmgr.Host

func (ms machines) Hosts(context.Context) (map[string]procmgr.Host, error) { return ms, nil }

func (ms machines) Host(_ context.Context, chat string) (procmgr.Host, error) {
	if h, ok := ms[chat]; ok {
		return h, nil // a chat with the name of a machine is there
	}
	names := make([]string, 0, len(ms))
	for name := range ms {
		names = append(names, name)
	}
	slices.Sort(names)
	hash := fnv.New32()
	hash.Write([]byte(chat))
	return ms[names[int(hash.Sum32()%uint32(len(names)))]], nil
}

// newMachines returns Locals with the names a, b, c and so on.
func newMachines(t *testing.T, n int) machines {
	t.Helper()
	ms := make(machines)
	for i := range n {
		ms[string(rune('a'+i))] = newLocal(t)
	}
	return ms
}

// A Host of many machines is a Host.
func TestHeldRoute(t *testing.T) {
	testenv.Held(t)
	r := procroute.New(newMachines(t, 3), nil)
	proctest.TestHost(t, func(*testing.T) procmgr.Host { return r })
}

// A silent is a machine that answers nothing, and does not look at its context.
type silent struct {
	procmgr.Host
	over chan struct{}
}

func newSilent(t *testing.T) silent {
	s := silent{over: make(chan struct{})}
	t.Cleanup(func() { close(s.over) })
	return s
}

var errOver = errors.New("the test is over")

func (s silent) List(context.Context, procmgr.ListRequest) (procmgr.ListPage, error) {
	<-s.over
	return procmgr.ListPage{}, errOver
}

func (s silent) Signal(context.Context, string, procmgr.Signal) error {
	<-s.over
	return errOver
}

func (s silent) Output(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
	<-s.over
	return procmgr.Output{}, errOver
}

func (s silent) Events(context.Context, procmgr.EventsRequest) (procmgr.EventPage, error) {
	<-s.over
	return procmgr.EventPage{}, errOver
}

// brief is the time for machines that do not answer.
var brief = &procroute.Options{Timeout: 100 * time.Millisecond}

// missing returns the machines that are missing by an error.
func missing(t *testing.T, err error) []string {
	t.Helper()
	var partial *procmgr.PartialError
	require.ErrorAs(t, err, &partial)
	var names []string
	for name, why := range partial.Missing {
		require.Error(t, why)
		require.ErrorContains(t, err, name)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A machine that does not answer is named, and the others' processes are there.
func TestRouteNamesTheSilent(t *testing.T) {
	ms := newMachines(t, 2)
	ms["deaf"] = newSilent(t)
	r := procroute.New(ms, brief)
	patient := procroute.New(machines{"a": ms["a"], "b": ms["b"]}, nil)
	ids := []string{run(t, r.Chat("a"), "echo in a").Process.ID, run(t, r.Chat("b"), "echo in b").Process.ID}

	list, err := r.List(t.Context(), procmgr.ListRequest{})
	require.Equal(t, []string{"deaf"}, missing(t, err))
	require.Equal(t, `procmgr: list: 1 machines have not answered: deaf (context deadline exceeded)`, err.Error())
	require.Len(t, list.Processes, 2)
	require.Equal(t, 2, list.Total)
	require.Equal(t, []string{list.Processes[1].ID, list.Processes[0].ID}, ids, "by their starts, the newest first")

	page, err := r.Events(t.Context(), procmgr.EventsRequest{})
	require.Equal(t, []string{"deaf"}, missing(t, err))
	require.Len(t, page.Events, 4)

	out, err := r.Output(t.Context(), ids[1], procmgr.OutputRequest{})
	require.NoError(t, err, "a machine that answers has it")
	require.Equal(t, "in b\n", out.Text)
	for _, f := range []func() error{
		func() error { _, err := r.Output(t.Context(), "nobody", procmgr.OutputRequest{}); return err },
		func() error { return r.Signal(t.Context(), "nobody", procmgr.Kill) },
		func() error {
			_, err := r.Input(t.Context(), "nobody", procmgr.InputRequest{})
			return err
		},
	} {
		err := f()
		require.Equal(t, []string{"deaf"}, missing(t, err))
		require.NotErrorIs(t, err, procmgr.ErrNotFound, "that machine may have it")
	}
	_, err = patient.Output(t.Context(), "nobody", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrNotFound)
	require.ErrorIs(t, patient.Signal(t.Context(), "nobody", procmgr.Kill), procmgr.ErrNotFound)
}

// The Host has no machine of its own, and an ID may be on two machines.
func TestRouteOfTheHost(t *testing.T) {
	r := procroute.New(newMachines(t, 2), nil)
	out, err := r.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.Empty(t, out.Process.ID)

	for _, chat := range []string{"a", "b"} {
		_, err := r.Chat(chat).Start(t.Context(), procmgr.StartRequest{ID: "same", Command: "exec sleep 1000"})
		require.NoError(t, err)
	}
	_, err = r.Output(t.Context(), "same", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.ErrorContains(t, err, "(a, b)")
	require.ErrorIs(t, r.Signal(t.Context(), "same", procmgr.Kill), procmgr.ErrConflict)
	for _, chat := range []string{"a", "b"} {
		require.NoError(t, r.Chat(chat).Signal(t.Context(), "same", procmgr.Kill))
	}
}

// A failing Router starts nothing.
func TestRouteWithoutMachine(t *testing.T) {
	lost := errors.New("the registry is down")
	r := procroute.New(noRouter{lost}, nil)
	out, err := r.Chat("x").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorIs(t, err, lost)
	require.Empty(t, out.Process.ID)
	_, err = r.List(t.Context(), procmgr.ListRequest{})
	require.ErrorIs(t, err, lost)
	_, err = r.Chat("").List(t.Context(), procmgr.ListRequest{})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	_, err = procroute.New(noRouter{}, nil).Chat("x").List(t.Context(), procmgr.ListRequest{})
	require.ErrorContains(t, err, "the chat has no machine")
}

type noRouter struct{ err error }

func (n noRouter) Host(context.Context, string) (procmgr.Host, error) { return nil, n.err }

func (n noRouter) Hosts(context.Context) (map[string]procmgr.Host, error) { return nil, n.err }

// Events of all machines are told once each, whatever the limit, and also by a route that
// has not told the ones before.
func TestRouteEvents(t *testing.T) {
	ms := newMachines(t, 3)
	r := procroute.New(ms, nil)
	var want []string
	for i := range 12 {
		want = append(want, run(t, r.Chat(string(rune('a'+i%3))), "true").Process.ID)
	}
	for _, limit := range []int{1, 2, 5, 0, -1} {
		var got []string
		after := ""
		for {
			page, err := procroute.New(ms, nil).Events(t.Context(), procmgr.EventsRequest{After: after, Limit: limit})
			require.NoError(t, err)
			require.False(t, page.Gap)
			if len(page.Events) == 0 {
				break
			}
			if limit > 0 {
				require.LessOrEqual(t, len(page.Events), limit)
			}
			for _, e := range page.Events {
				if e.Kind == procmgr.EventExited {
					got = append(got, e.Process.ID)
				}
			}
			after = page.Next
		}
		require.ElementsMatch(t, want, got, "limit %d", limit)
	}
	_, err := procroute.New(machines{"bare": bare{}}, nil).Events(t.Context(), procmgr.EventsRequest{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// A bare is a machine that tells of no events.
type bare struct{ procmgr.Unsupported }

func (bare) Chat(string) procmgr.Manager { return bare{} }

// A page of many machines is the page that one machine with all of their processes
// would have.
func TestRouteList(t *testing.T) {
	r := procroute.New(newMachines(t, 3), nil)
	for i := range 12 {
		m, req := r.Chat(string(rune('a'+i%3))), procmgr.StartRequest{Command: "true", Background: i%4 == 0, Wait: long}
		if i%4 == 3 {
			req.Command, req.Wait = "exec sleep 600", 0
		}
		_, err := m.Start(t.Context(), req)
		require.NoError(t, err)
	}
	page, err := r.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Len(t, page.Processes, 12)
	all := slices.SortedFunc(slices.Values(page.Processes), func(a, b procmgr.Process) int { return a.StartedAt.Compare(b.StartedAt) })
	for _, req := range []procmgr.ListRequest{
		{}, {Limit: 1}, {Offset: 2, Limit: 4}, {Offset: 11, Limit: 3}, {Offset: 13}, {Offset: math.MaxInt, Limit: math.MaxInt},
		{State: procmgr.Exited, Offset: 1, Limit: 5}, {State: procmgr.Running, Limit: 2}, {State: procmgr.Detached},
	} {
		want, err := procmgr.PageOf(all, req)
		require.NoError(t, err)
		got, err := r.List(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, [2]int{want.Total, want.Live}, [2]int{got.Total, got.Live}, "%+v", req)
		require.Equal(t, idsOf(want), idsOf(got), "%+v", req)
	}
	for _, req := range []procmgr.ListRequest{{State: "asleep"}, {Offset: -1}} {
		_, err := r.List(t.Context(), req)
		require.ErrorIs(t, err, procmgr.ErrInvalid)
	}
}

func idsOf(page procmgr.ListPage) (ids []string) {
	for _, p := range page.Processes {
		ids = append(ids, p.ID)
	}
	return ids
}

// The machines may differ, so the Host says nothing of them, and each chat
// describes its own.
func TestRouteDescribes(t *testing.T) {
	ms := newMachines(t, 1)
	ms["bare"] = bare{}
	r := procroute.New(ms, nil)
	all, err := r.Describe(t.Context())
	require.NoError(t, err)
	require.Zero(t, all)
	want, err := ms["a"].Describe(t.Context())
	require.NoError(t, err)
	require.NotZero(t, want)
	got, err := r.Chat("a").Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = r.Chat("bare").Describe(t.Context())
	require.ErrorIs(t, err, errors.ErrUnsupported)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Describe(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// A wait ends with the first event on any machine, and a machine that has gone,
// or a cursor that is no Next, is a gap that is told once.
func TestRouteEventsWait(t *testing.T) {
	ms := newMachines(t, 2)
	ms["deaf"] = newSilent(t)
	r := procroute.New(ms, brief)
	latest, err := r.Events(t.Context(), procmgr.EventsRequest{Limit: -1})
	require.Equal(t, []string{"deaf"}, missing(t, err))
	require.Empty(t, latest.Events)

	var waits sync.WaitGroup
	var now procmgr.EventPage
	waits.Go(func() { now, err = r.Events(t.Context(), procmgr.EventsRequest{After: latest.Next, Wait: 2 * long}) })
	id := run(t, r.Chat("b"), "sleep 0.3").Process.ID
	began := time.Now()
	waits.Wait()
	require.Less(t, time.Since(began), long)
	require.Equal(t, []string{"deaf"}, missing(t, err))
	require.NotEmpty(t, now.Events)
	require.Equal(t, id, now.Events[0].Process.ID)

	delete(ms, "deaf")
	for _, after := range []string{"garbled", "bnVsbA", "?"} {
		page, err := r.Events(t.Context(), procmgr.EventsRequest{After: after, Wait: 2 * long})
		require.NoError(t, err)
		require.True(t, page.Gap)
		page, err = r.Events(t.Context(), procmgr.EventsRequest{After: page.Next})
		require.NoError(t, err)
		require.False(t, page.Gap)
	}
	now, err = r.Events(t.Context(), procmgr.EventsRequest{Limit: -1})
	require.NoError(t, err)
	delete(ms, "a")
	now, err = r.Events(t.Context(), procmgr.EventsRequest{After: now.Next, Wait: 2 * long})
	require.NoError(t, err)
	require.True(t, now.Gap, "what happened there last is not known")
	now, err = r.Events(t.Context(), procmgr.EventsRequest{After: now.Next})
	require.NoError(t, err)
	require.False(t, now.Gap)
}

// uncomparable is a Host that is no map key, so a route cannot tell whether it is the same.
type uncomparable struct {
	procmgr.Host
	_ func()
}

// A chat that has moved may have run an ID elsewhere before.
func TestAge(t *testing.T) {
	began := time.Now()
	a, b := newLocal(t), newLocal(t)
	ready := time.Now()
	run(t, a, "true") // takes a while
	ms := make(machines)
	r := procroute.New(ms, nil)
	c := r.Chat("chat")
	made := time.Now()
	for _, step := range []struct {
		name    string
		machine procmgr.Host
		id      string
		since   time.Time // when the call was made; zero is Age 0
		err     error
	}{
		{"first", a, "x", time.Now(), nil},
		{"before the machine", a, "y", began, procmgr.ErrUnknown},
		{"before the route", a, "y", ready, procmgr.ErrUnknown},
		{"known", a, "x", began, nil},
		{"moved", b, "x", made, procmgr.ErrUnknown},
		{"moved, for the first time", b, "x", time.Time{}, nil},
		{"moved back, and known", a, "x", made, nil},
		{"moved back, and unknown", a, "z", made, procmgr.ErrUnknown},
	} {
		ms["chat"] = step.machine
		req := procmgr.StartRequest{ID: step.id, Command: "true"}
		if !step.since.IsZero() {
			req.Age = time.Since(step.since)
		}
		_, err := c.Start(t.Context(), req)
		require.ErrorIs(t, err, step.err, step.name)
	}
	for id, machine := range map[string]*proclocal.Local{"p": a, "q": b} {
		ms["chat made anew"] = uncomparable{Host: machine}
		_, err := r.Chat("chat made anew").Start(t.Context(), procmgr.StartRequest{ID: id, Command: "true", Age: time.Since(made)})
		require.NoError(t, err)
	}
}
