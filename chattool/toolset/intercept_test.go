package toolset_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
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

	t.Run("with another context", func(t *testing.T) {
		res, runs, value := try(t, func(ctx context.Context, c toolset.Call, n next) toolset.Result {
			require.Equal(t, call, c)
			return n(context.WithValue(ctx, chatKey{}, "a span"))
		})
		require.False(t, res.IsError, res.Content)
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
	t.Run("once more is not twice", func(t *testing.T) {
		var first toolset.Result
		res, runs, _ := try(t, func(ctx context.Context, _ toolset.Call, n next) toolset.Result {
			first = n(ctx)
			return n(ctx)
		})
		require.Equal(t, first, res)
		require.Equal(t, 1, runs)
	})
	t.Run("a panic before it", func(t *testing.T) {
		var late next
		res, runs, _ := try(t, func(_ context.Context, _ toolset.Call, n next) toolset.Result {
			late = n
			panic("oh")
		})
		require.True(t, res.IsError)
		require.Zero(t, runs)
		require.Equal(t, res, late(t.Context()), "the model was told that nothing was done")
	})
	t.Run("a panic after it", func(t *testing.T) {
		res, runs, _ := try(t, func(ctx context.Context, _ toolset.Call, n next) toolset.Result {
			n(ctx)
			panic("oh")
		})
		require.False(t, res.IsError, res.Content)
		require.Contains(t, res.Content, "done")
		require.Equal(t, 1, runs)
	})
}
