package proctest_test

import (
	"bytes"
	"context"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// A guard stands before a Manager. It refuses a word, and hides the processes
// whose ID begins in a certain way. The guard without either lets everything
// through.
//
// It embeds Unsupported and no Manager: a method that a later version adds is
// refused until the guard has a rule for it.
type guard struct {
	procmgr.Unsupported
	m       procmgr.Manager
	refuses string // a word that is in no command and in no input; "" is none
	hides   string // how the ID of a hidden process begins; "" is none
}

func (g guard) hidden(id string) bool { return g.hides != "" && strings.HasPrefix(id, g.hides) }

// unknown is the error of a call for an unused ID.
func unknown(call, id string) error {
	return xerrors.Errorf("procmgr: %s %q: %w", call, id, procmgr.ErrNotFound)
}

// refusal is the error of a call that has the word.
func refusal(call, id string) error {
	return xerrors.Errorf("procmgr: %s %q: the guard does not allow this: %w", call, id, procmgr.ErrRefused)
}

func (g guard) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if g.hidden(req.ID) || g.refuses != "" && strings.Contains(req.Command, g.refuses) {
		return procmgr.Output{}, refusal("start", req.ID)
	}
	return g.m.Start(ctx, req)
}

func (g guard) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if g.hidden(id) {
		return procmgr.Output{}, unknown("output", id)
	}
	return g.m.Output(ctx, id, req)
}

func (g guard) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	switch {
	case g.refuses != "" && bytes.Contains(req.Data, []byte(g.refuses)): // whether or not there is such a process
		return procmgr.InputOutput{}, refusal("input", id)
	case g.hidden(id):
		return procmgr.InputOutput{}, unknown("input", id)
	}
	return g.m.Input(ctx, id, req)
}

func (g guard) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if g.hidden(id) {
		return unknown("signal", id)
	}
	return g.m.Signal(ctx, id, sig)
}

// List makes the page itself: the counts of the Manager behind it have the hidden
// processes, too.
func (g guard) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	all, partial := g.m.List(ctx, procmgr.ListRequest{})
	if partial != nil && len(all.Processes) == 0 {
		return procmgr.ListPage{}, partial
	}
	shown := slices.DeleteFunc(all.Processes, func(p procmgr.Process) bool { return g.hidden(p.ID) })
	slices.SortStableFunc(shown, func(a, b procmgr.Process) int { return a.StartedAt.Compare(b.StartedAt) })
	page, err := procmgr.PageOf(shown, req)
	if err != nil {
		return procmgr.ListPage{}, xerrors.Errorf("procmgr: list: %w", err)
	}
	return page, partial
}

// Events asks again if all events of a page are hidden: an empty page would say
// that there is no more.
func (g guard) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	for end := time.Now().Add(req.Wait); ; {
		page, err := g.m.Events(ctx, req)
		all := len(page.Events)
		page.Events = slices.DeleteFunc(page.Events, func(e procmgr.Event) bool { return g.hidden(e.Process.ID) })
		if err != nil || all == 0 || len(page.Events) > 0 || page.Gap {
			return page, err
		}
		req.After, req.Wait = page.Next, max(time.Until(end), 0)
	}
}

// Describe keeps the shell to itself if the guard has something to hide.
func (g guard) Describe(ctx context.Context) (procmgr.Description, error) {
	d, err := g.m.Describe(ctx)
	if g.hides != "" {
		d.Shell = ""
	}
	return d, err
}

// A scene is what a guard stands before: the view of a host or of a chat, with a
// process that is hidden and one that is not.
type scene struct {
	inner, view  procmgr.Manager
	hidden, open string
}

// Nothing passes a guard: neither the host's own view nor a chat's view has a method
// that shows a hidden process or takes a refused word. If Manager gets another method,
// this test fails until it also tries that method.
func TestNothingPassesAWrapper(t *testing.T) {
	l := newLocal(t, nil)
	protect := func(_ string, m procmgr.Manager) procmgr.Manager {
		return guard{m: m, refuses: "forbidden", hides: "secret"}
	}
	host := procmgr.WrapHost(l, protect)
	twice := procmgr.WrapHost(procmgr.WrapHost(l, protect), func(_ string, m procmgr.Manager) procmgr.Manager { return guard{m: m} })
	views := []struct {
		name        string
		inner, view procmgr.Manager
	}{
		{"a Manager", l, protect("", l)},
		{"a chat's Manager", l.Chat("a"), protect("a", l.Chat("a"))},
		{"the host's view", l, host},
		{"a chat's view", l.Chat("b"), host.Chat("b")},
		{"the host's view, wrapped again", l, twice},
		{"a chat's view, wrapped again", l.Chat("c"), twice.Chat("c")},
	}
	for _, tt := range views {
		t.Run(tt.name, func(t *testing.T) {
			s := scene{inner: tt.inner, view: tt.view, hidden: "secret-" + procmgr.NewID(), open: procmgr.NewID()}
			stdin := procmgr.StdinPipe
			if runtime.GOOS == "windows" {
				stdin = procmgr.StdinEmpty
			}
			for _, id := range []string{s.hidden, s.open} {
				_, err := s.inner.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "echo ready; cat; exec sleep 600", Stdin: stdin})
				require.NoError(t, err)
				out, err := s.inner.Output(t.Context(), id, procmgr.OutputRequest{Until: "^ready$", Wait: time.Minute})
				require.NoError(t, err)
				require.True(t, out.Matched)
			}
			methods := reflect.TypeFor[procmgr.Manager]()
			for i := range methods.NumMethod() {
				name := methods.Method(i).Name
				attack, ok := attacks[name]
				require.True(t, ok, "nothing tries to pass a guard by the method %s", name)
				t.Run(name, func(t *testing.T) { attack(t, s) })
			}
			// No method beside these leads to what is inside.
			own := reflect.TypeOf(s.view)
			for i := range own.NumMethod() {
				_, ok := attacks[own.Method(i).Name]
				require.True(t, ok || own.Method(i).Name == "Chat", "%s", own.Method(i).Name)
			}
			for _, err := range procmgr.Follow(t.Context(), s.view, s.hidden, nil) {
				require.ErrorIs(t, err, procmgr.ErrNotFound)
			}
			out, err := s.inner.Output(t.Context(), s.hidden, procmgr.OutputRequest{})
			require.NoError(t, err)
			require.Equal(t, procmgr.Running, out.Process.State, "something has reached it")
			require.Equal(t, "ready\n", out.Text)
		})
	}
}

// sameAsUnknown fails if an error tells that there is such a process.
func (s scene) sameAsUnknown(t *testing.T, call func(id string) error) {
	t.Helper()
	err := call(s.hidden)
	require.ErrorIs(t, err, procmgr.ErrNotFound)
	never := procmgr.NewID()
	require.Equal(t, strings.ReplaceAll(call(never).Error(), never, s.hidden), err.Error())
}

// attacks try to pass a guard, by the method of Manager that each calls.
var attacks = map[string]func(t *testing.T, s scene){
	"Start": func(t *testing.T, s scene) {
		before, err := s.inner.List(t.Context(), procmgr.ListRequest{})
		require.NoError(t, err)
		for _, req := range []procmgr.StartRequest{
			{Command: "echo forbidden"},
			{ID: s.hidden, Command: "echo ready; cat; exec sleep 600"},
			{ID: s.hidden, Command: "echo another"},
		} {
			out, err := s.view.Start(t.Context(), req)
			require.ErrorIs(t, err, procmgr.ErrRefused)
			require.Zero(t, out)
		}
		after, err := s.inner.List(t.Context(), procmgr.ListRequest{})
		require.NoError(t, err)
		require.Equal(t, before.Total, after.Total, "a refused command has run")
	},
	"Output": func(t *testing.T, s scene) {
		for _, req := range []procmgr.OutputRequest{{}, {Wait: time.Millisecond}, {Until: "ready", Wait: time.Minute}} {
			s.sameAsUnknown(t, func(id string) error {
				out, err := s.view.Output(t.Context(), id, req)
				require.Zero(t, out)
				return err
			})
		}
		out, err := s.view.Output(t.Context(), s.open, procmgr.OutputRequest{})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(out.Text, "ready\n"), out.Text)
	},
	"Input": func(t *testing.T, s scene) {
		for _, data := range []string{"", "x\n"} {
			s.sameAsUnknown(t, func(id string) error {
				out, err := s.view.Input(t.Context(), id, procmgr.InputRequest{Data: []byte(data)})
				require.Zero(t, out)
				return err
			})
		}
		for _, id := range []string{s.open, s.hidden, procmgr.NewID()} {
			out, err := s.view.Input(t.Context(), id, procmgr.InputRequest{Data: []byte("echo; forbidden\n")})
			require.ErrorIs(t, err, procmgr.ErrRefused)
			require.Zero(t, out)
		}
		if runtime.GOOS == "windows" {
			return // no process has a stdin there
		}
		out, err := s.view.Input(t.Context(), s.open, procmgr.InputRequest{Data: []byte("allowed\n"), Until: "^allowed$", Wait: time.Minute})
		require.NoError(t, err)
		require.True(t, out.Matched)
		all, err := s.inner.Output(t.Context(), s.open, procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, "ready\nallowed\n", all.Text, "a refused input was written")
	},
	"Signal": func(t *testing.T, s scene) {
		for _, sig := range []procmgr.Signal{procmgr.Interrupt, procmgr.Terminate, procmgr.Kill} {
			s.sameAsUnknown(t, func(id string) error { return s.view.Signal(t.Context(), id, sig) })
		}
	},
	"List": func(t *testing.T, s scene) {
		for _, req := range []procmgr.ListRequest{{}, {Limit: 1}, {State: procmgr.Running}, {State: procmgr.Running, Offset: 1}} {
			page, err := s.view.List(t.Context(), req)
			require.NoError(t, err)
			for _, p := range page.Processes {
				require.False(t, strings.HasPrefix(p.ID, "secret"), "%+v shows %q", req, p.ID)
			}
			all, err := s.inner.List(t.Context(), procmgr.ListRequest{State: req.State})
			require.NoError(t, err)
			hidden := 0
			for _, p := range all.Processes {
				if strings.HasPrefix(p.ID, "secret") {
					hidden++
				}
			}
			require.Positive(t, hidden)
			require.Equal(t, all.Total-hidden, page.Total, "the count tells of hidden processes")
			require.Equal(t, all.Live-hidden, page.Live, "the count tells of hidden processes")
		}
	},
	"Events": func(t *testing.T, s scene) {
		for _, limit := range []int{1, 2, -1} {
			var told []string
			for after := ""; ; {
				page, err := s.view.Events(t.Context(), procmgr.EventsRequest{After: after, Limit: limit})
				require.NoError(t, err)
				if len(page.Events) == 0 {
					break
				}
				for _, e := range page.Events {
					require.False(t, strings.HasPrefix(e.Process.ID, "secret"), "an event tells of %q", e.Process.ID)
					told = append(told, e.Process.ID)
				}
				after = page.Next
			}
			require.Contains(t, told, s.open)
		}
	},
	"Describe": func(t *testing.T, s scene) {
		d, err := s.view.Describe(t.Context())
		require.NoError(t, err)
		require.Equal(t, procmgr.Description{OS: runtime.GOOS}, d)
	},
}
