package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

func TestIntercept(t *testing.T) {
	t.Parallel()
	type next = func(context.Context) toolset.Result
	call := toolset.Call{ID: "1", Name: "execute", Arguments: json.RawMessage(`{"command":"x"}`)}
	// try makes a call through an Intercept, and returns how often it was carried out and
	// which value its context had.
	try := func(t *testing.T, f func(context.Context, toolset.Call, next) toolset.Result) (res toolset.Result, runs int, value any) {
		m := &fake{start: func(ctx context.Context, _ procmgr.StartRequest) (procmgr.Output, error) {
			runs, value = runs+1, ctx.Value(chatKey{})
			return exited("p1", 0, "done\n"), nil
		}}
		told := 0
		set := newSet(toolset.Static(m), &toolset.Options{Intercept: f, OnResult: func(context.Context, toolset.Call, toolset.Result) { told++ }})
		res = set.Call(t.Context(), call)
		require.Equal(t, runs, told)
		require.NotEmpty(t, res.Content)
		return res, runs, value
	}

	t.Run("with another context, and once more is not twice", func(t *testing.T) {
		var first toolset.Result
		res, runs, value := try(t, func(ctx context.Context, c toolset.Call, n next) toolset.Result {
			require.Equal(t, call, c)
			first = n(context.WithValue(ctx, chatKey{}, "a span"))
			return n(ctx)
		})
		require.False(t, res.IsError, res.Content)
		require.Equal(t, first, res)
		require.Equal(t, 1, runs)
		require.Equal(t, "a span", value)
	})
	t.Run("it carries out nothing", func(t *testing.T) {
		res, runs, _ := try(t, func(context.Context, toolset.Call, next) toolset.Result {
			return toolset.Result{Content: "from a cache"}
		})
		require.Equal(t, toolset.Result{Content: "from a cache"}, res)
		require.Zero(t, runs)
	})
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint("a panic before it: ", before), func(t *testing.T) {
			var late next
			res, runs, _ := try(t, func(ctx context.Context, _ toolset.Call, n next) toolset.Result {
				if late = n; !before {
					n(ctx)
				}
				panic("oh")
			})
			require.Equal(t, before, res.IsError, res.Content)
			require.Equal(t, res, late(t.Context()), "the model was told so")
			require.Equal(t, map[bool]int{false: 1}[before], runs)
		})
	}
}

// OnResult gets each result with its call, in the context of the call, and one that panics
// costs no result.
func TestOnResult(t *testing.T) {
	t.Parallel()
	type told struct {
		chat   any
		call   toolset.Call
		result toolset.Result
	}
	var got []told
	set := newSet(toolset.Static(&fake{list: func(context.Context) ([]procmgr.Process, error) { panic("oh") }}), &toolset.Options{
		OnResult: func(ctx context.Context, c toolset.Call, r toolset.Result) {
			got = append(got, told{ctx.Value(chatKey{}), c, r})
			panic("oh")
		},
	})
	ctx := context.WithValue(t.Context(), chatKey{}, "a")
	for i, c := range []toolset.Call{
		{ID: "1", Name: "execute", Arguments: json.RawMessage(`{"command":"x"}`)},
		{ID: "2", Name: "execute", Arguments: json.RawMessage(`{"command":""}`)},
		{ID: "3", Name: "process_list", Arguments: json.RawMessage(`{}`)}, // which panics
		{ID: "4", Name: "nothing"},
	} {
		res := set.Call(ctx, c)
		require.Equal(t, i > 0, res.IsError, res.Content)
		require.Len(t, got, i+1)
		require.Equal(t, told{"a", c, res}, got[i])
	}
}

// TestShows compares what a result says that it shows with what it shows.
func TestShows(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	long := strings.Repeat("x", 3000) + "\n"
	for name, tt := range map[string]struct {
		stream string
		since  int
		limit  headtail.Limits
		format toolset.Format
		pieces int
	}{
		"nothing":            {"", 0, headtail.Limits{}, toolset.FormatJSON, 0},
		"all of it":          {"one\ntwo\n", 0, headtail.Limits{}, toolset.FormatJSON, 1},
		"from an offset on":  {"one\ntwo\n", 4, headtail.Limits{}, toolset.FormatText, 1},
		"beyond the end":     {"one\ntwo\n", 99, headtail.Limits{}, toolset.FormatText, 0},
		"without its middle": {all.String(), 0, headtail.Limits{Bytes: 2000}, toolset.FormatText, 2},
		"a part of it":       {all.String(), 30000, headtail.Limits{Bytes: 3000}, toolset.FormatJSON, 2},
		"long lines":         {long + long, 0, headtail.Limits{Bytes: 4500, Line: 1000}, toolset.FormatText, 3},
	} {
		t.Run(name, func(t *testing.T) {
			m := &fake{output: func(_ context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				out := exited(id, 0, "")
				b := headtail.New(len(tt.stream), 0)
				_, _ = b.Write([]byte(tt.stream))
				s := b.Snapshot(req.From)
				out.Text, out.Truncated = s.Text(req.Limit)
				out.Next = s.Total
				return out, nil
			}}
			var got toolset.Result
			set := newSet(toolset.Static(m), &toolset.Options{
				Limit: tt.limit, Format: tt.format,
				OnResult: func(_ context.Context, _ toolset.Call, r toolset.Result) { got = r },
			})
			set.Call(t.Context(), toolset.Call{Name: "process_output", Arguments: fmt.Appendf(nil, `{"process_id":"p1","since":%d}`, tt.since)})
			require.Len(t, got.Report.Shows, tt.pieces, "%v", got.Report.Shows)
			rest, shown := *got.Report.Output, 0
			for _, s := range got.Report.Shows {
				piece := tt.stream[s.From:s.To]
				_, after, found := strings.Cut(rest, piece)
				require.True(t, found, "%.40q … is not in %.80q …", piece, rest)
				rest, shown = after, shown+len(piece)
			}
			want := len(tt.stream) - min(tt.since, len(tt.stream))
			if cut := got.Report.Truncated; cut != nil {
				want = int(cut.RetainedBytes)
			}
			require.Equal(t, want, shown)
		})
	}
}
