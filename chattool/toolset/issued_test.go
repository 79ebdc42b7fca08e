package toolset_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// A start says how old its call is when it is sent.
func TestIssuedAt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		issued func() time.Time
		age    time.Duration
	}{
		{"never", func() time.Time { return time.Time{} }, 0},
		{"a minute ago", func() time.Time { return time.Now().Add(-time.Minute) }, time.Minute + 5*time.Second},
		{"by a clock that is ahead", func() time.Time { return time.Now().Add(time.Hour) }, 0},
	} {
		t.Run(tt.name, inFakeTime(func(t *testing.T) {
			m := &fake{start: func(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
				if req.Age > 0 {
					return procmgr.Output{}, xerrors.Errorf("procmgr: start %q: the manager has been up for 1s, and it may have run before the restart: %w", req.ID, procmgr.ErrUnknown)
				}
				return exited(req.ID, 0, ""), nil
			}}
			m.output = func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
				return procmgr.Output{}, procmgr.ErrNotFound
			}
			opts := fixed()
			opts.Approve = func(context.Context, toolset.Question) (toolset.Verdict, error) {
				time.Sleep(5 * time.Second)
				return toolset.Verdict{}, nil
			}
			res := newSet(toolset.Static(m), opts).Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`), IssuedAt: tt.issued()})
			require.Equal(t, tt.age, m.starts[0].Age)
			require.Equal(t, 10*time.Second, m.starts[0].Wait, "the timeout begins after the answer of Approve")
			if tt.age == 0 {
				require.True(t, res.Report.Success)
				return
			}
			require.True(t, res.IsError)
			require.False(t, res.Report.Success)
			require.Equal(t, "it is unknown whether the command ran: the manager has been up for 1s, and it may have run before the restart", res.Report.Error)
			require.Contains(t, res.Content, "Do not simply run it again: first check what it would have changed")
			require.Equal(t, "p1", res.Report.ProcessID)
		}))
	}
}

// A replayed call may have run its command, unless a manager has looked.
func TestReplayedCallThatIsNotLookedAt(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for name, tt := range map[string]struct {
		ctx     context.Context
		resolve error // of the Resolver
		start   error // of Start
		random  bool  // the host chooses no ID
		looked  bool
	}{
		"no manager":          {resolve: xerrors.New("x")},
		"canceled":            {ctx: ended},
		"with a random ID":    {resolve: xerrors.New("x"), random: true, looked: true},
		"unreachable":         {start: xerrors.New("x")},
		"closed":              {start: procmgr.ErrClosed},
		"canceled on the way": {start: context.Canceled},
		"refused":             {start: procmgr.ErrRefused, looked: true},
		"a full chat":         {start: procmgr.ErrLimit, looked: true},
	} {
		for _, issued := range []time.Time{{}, time.Now()} {
			t.Run(fmt.Sprint(name, " ", issued.IsZero()), func(t *testing.T) {
				m := &fake{start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
					return procmgr.Output{}, tt.start
				}}
				m.output = func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
					return procmgr.Output{}, procmgr.ErrNotFound
				}
				opts := fixed()
				if tt.random {
					opts.ProcessID = func(context.Context, toolset.Call) string { return "" }
				}
				set := newSet(func(context.Context) (procmgr.Manager, error) { return m, tt.resolve }, opts)
				ctx := cmp.Or(tt.ctx, t.Context())
				res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`), IssuedAt: issued})
				want := ""
				if !tt.looked && !issued.IsZero() {
					want = "p1"
					require.Contains(t, res.Report.Error, "it is unknown whether the command ran")
				}
				require.Equal(t, want, res.Report.ProcessID, res.Content)
				require.Equal(t, want != "", res.Report.Unknown, res.Content)
			})
		}
	}
}

func TestStableID(t *testing.T) {
	t.Parallel()
	ids := map[string][]string{}
	for _, parts := range [][]string{nil, {""}, {"", ""}, {"a", "bc"}, {"ab", "c"}, {"abc"}, {"1:a"}, {"a", "1:"}, {strings.Repeat("ä/", 9999)}} {
		id := toolset.StableID(parts...)
		require.Regexp(t, `^[A-Za-z0-9_-]{16,64}$`, id)
		require.Equal(t, id, toolset.StableID(parts...))
		require.NotContains(t, ids, id)
		ids[id] = parts
	}
}

// A model says with description what a call is for. It reaches the host, and nothing else.
func TestDescriptionIsKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ arguments, want string }{
		"text":    {`{"command":"x","description":"Run the tests"}`, "Run the tests"},
		"encoded": {`"{\"command\":\"x\",\"description\":\"Run the tests\"}"`, "Run the tests"},
		"odd":     {`{"command":"x","description":["Run"]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var asked string
			res, got := call(t, &fake{}, &toolset.Options{Approve: func(_ context.Context, q toolset.Question) (toolset.Verdict, error) {
				asked = q.Description
				return toolset.Verdict{}, nil
			}}, "execute", tt.arguments)
			require.Equal(t, true, got["success"])
			require.Equal(t, tt.want, res.Report.Description)
			require.Equal(t, tt.want, asked)
			require.NotContains(t, res.Content, "Run")
		})
	}
}

// Chats do not see each other's outputs, although they have one Set. One chat forgets, and
// the other does not.
func TestForgetAChat(t *testing.T) {
	t.Parallel()
	for forgotten, whole := range map[string][]string{"a": {"a"}, "c": nil, "": {"a", "b"}} {
		t.Run("chat "+forgotten, func(t *testing.T) {
			host := newHost(t, nil)
			set := newSet(func(ctx context.Context) (procmgr.Manager, error) {
				return host.Chat(ctx.Value(chatKey{}).(string)), nil
			}, nil)
			run := func(chat string) toolset.Result {
				return set.Call(context.WithValue(t.Context(), chatKey{}, chat), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"for i in 1 2 3 4 5 6 7 8 9; do echo $i; printf '%0300d\\n' $i; done"}`)})
			}
			for _, chat := range []string{"a", "b"} {
				require.Nil(t, run(chat).Report.Changes)
			}
			set.Forget(forgotten)
			for _, chat := range []string{"a", "b"} {
				require.Equal(t, slices.Contains(whole, chat), run(chat).Report.Changes == nil, chat)
			}
		})
	}
}
