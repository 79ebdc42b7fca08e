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

func TestOnResult(t *testing.T) {
	t.Parallel()
	type told struct {
		chat   any
		call   toolset.Call
		result toolset.Result
	}
	var got []told
	tell := func(ctx context.Context, c toolset.Call, r toolset.Result) {
		got = append(got, told{ctx.Value(chatKey{}), c, r})
	}
	m := &fake{}
	set := newSet(toolset.Static(m), &toolset.Options{OnResult: tell})
	ctx := context.WithValue(t.Context(), chatKey{}, "a")
	calls := []toolset.Call{
		{ID: "1", Name: "execute", Arguments: json.RawMessage(`{"command":"x"}`)},
		{ID: "2", Name: "execute", Arguments: json.RawMessage(`{"command":""}`)},
		{ID: "3", Name: "process_list", Arguments: json.RawMessage(`{}`)},
		{ID: "4", Name: "nothing"},
	}
	for _, c := range calls {
		res := set.Call(ctx, c)
		require.Equal(t, told{"a", c, res}, got[len(got)-1])
	}
	require.Len(t, got, len(calls))

	t.Run("a result of a call that panicked", func(t *testing.T) {
		m.list = func(context.Context) ([]procmgr.Process, error) { panic("oh") }
		res := set.Call(ctx, calls[2])
		require.True(t, res.IsError)
		require.Equal(t, told{"a", calls[2], res}, got[len(got)-1])
		require.Len(t, got, len(calls)+1)
	})

	t.Run("one that panics", func(t *testing.T) {
		set := newSet(toolset.Static(&fake{}), &toolset.Options{OnResult: func(context.Context, toolset.Call, toolset.Result) { panic("oh") }})
		res := set.Call(ctx, calls[0])
		require.False(t, res.IsError, res.Content)
		require.NotEmpty(t, res.Content)
	})
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
