package procview_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr"
)

// A page that comes later has the calls that it did not see, also those without a process.
func TestCallsOfStream(t *testing.T) {
	t.Parallel()
	code := 3
	v, base := serve(t, &listing{}, &procview.Options{Token: token})
	for _, tt := range []struct {
		tool, arguments string
		result          toolset.Result
	}{
		{"execute", `{"command":"rm -rf /"}`, toolset.Result{Content: "denied by the user", Report: toolset.Report{Denied: true}}},
		{"execute", `{"command":"make"}`, toolset.Result{Content: "long", Report: toolset.Report{ExitCode: &code}, Output: &procmgr.Output{Process: procmgr.Process{ID: "p1", ChatID: "a", State: procmgr.Exited, ExitCode: &code}}}},
		{"execute", `{"command":"make serve"}`, toolset.Result{Report: toolset.Report{ExitCode: &code}, Output: &procmgr.Output{Process: procmgr.Process{ID: "p2", State: procmgr.Exited, EndedBy: procmgr.CauseRequest}}}},
		{"edit_files", `{"path":"main.go"}`, toolset.Result{Content: strings.Repeat("é", 100_000), IsError: true}},
	} {
		v.Result(t.Context(), toolset.Call{Name: tt.tool, Arguments: []byte(tt.arguments)}, tt.result)
	}
	type told struct {
		N                                               int64
		Tool, About, Outcome, Kind, ChatID, ID, Content string
	}
	read := func() (calls []told) {
		ctx, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		res := call{path: "stream"}.do(ctx, t, base).Body
		defer res.Close()
		events(t, res, func(e sent) bool {
			if e.name == "calls" {
				require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(string(e.data), "chat_id", "chatid")), &calls))
			}
			return e.name != "calls"
		})
		return calls
	}
	calls := read()
	require.Len(t, calls, 4)
	for i, want := range []told{
		{Tool: "execute", About: "rm -rf /", Outcome: "denied", Kind: "denied", Content: "denied by the user"},
		{Tool: "execute", About: "make", Outcome: "exit 3", Kind: "failed", ChatID: "a", ID: "p1"},
		{Tool: "execute", About: "make serve", Outcome: "exit 3", ID: "p2"},
		{Tool: "edit_files", About: "main.go", Outcome: "error", Kind: "failed", Content: strings.Repeat("é", 8<<10) + "…"},
	} {
		want.N = calls[i].N
		require.Equal(t, want, calls[i])
		require.True(t, i == 0 || calls[i].N > calls[i-1].N)
	}
	for range 300 {
		v.Result(t.Context(), toolset.Call{Name: "process_list"}, toolset.Result{})
	}
	later := read()
	require.Len(t, later, 200, "the newest")
	require.Greater(t, later[0].N, calls[3].N)
	// The calls of a later View are newer.
	v, base = serve(t, &listing{}, &procview.Options{Token: token})
	v.Result(t.Context(), toolset.Call{Name: "process_list"}, toolset.Result{})
	require.Greater(t, read()[0].N, later[0].N)
}

// listing is a Host with a list alone.
type listing struct {
	procmgr.Unsupported
	all atomic.Pointer[[]procmgr.Process]
}

func (l *listing) Chat(string) procmgr.Manager { return l }

func (l *listing) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if all := l.all.Load(); all != nil {
		return procmgr.PageOf(*all, req)
	}
	return procmgr.ListPage{}, nil
}

// A page hears of a process that the manager does not know any more, for example since it
// has been restarted, and of one that it knows again.
func TestGone(t *testing.T) {
	t.Parallel()
	l := &listing{}
	one := procmgr.Process{ID: "one", ChatID: "a", Command: "sleep 1000", State: procmgr.Running, StartedAt: time.Now()}
	two := procmgr.Process{ID: "two", ChatID: "a", Command: "sleep 1001", State: procmgr.Running, StartedAt: time.Now()}
	l.all.Store(&[]procmgr.Process{one})
	_, base := serve(t, l, &procview.Options{Token: token})
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	res := call{path: "stream"}.do(ctx, t, base).Body
	defer res.Close()
	stage := 0
	events(t, res, func(e sent) bool {
		text := string(e.data)
		switch gone := strings.Contains(text, `"gone":true`); {
		case stage == 0 && e.name == "list":
			require.Contains(t, text, `"one"`)
			stage++
			l.all.Store(&[]procmgr.Process{two})
		case stage == 1 && gone:
			require.Equal(t, "processes", e.name)
			require.Contains(t, text, `"id":"one"`)
			stage++
			list := get[struct{ Total, Live int }](t, base, "list")
			require.Equal(t, struct{ Total, Live int }{1, 1}, list, "the list does not have it")
			l.all.Store(&[]procmgr.Process{one, two})
		case stage == 2 && strings.Contains(text, `"id":"one"`):
			require.False(t, gone)
			stage++
		}
		return stage < 3
	})
	require.Equal(t, 3, stage)
}
