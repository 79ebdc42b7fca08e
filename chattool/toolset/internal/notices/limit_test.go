package notices_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
)

type contextKey struct{}

var errGone = errors.New("gone")

// A limit does what context.WithTimeout does, whether somebody waits for it or
// not.
func TestLimit(t *testing.T) {
	type made func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	makers := map[string]made{
		"limit":   notices.Within,
		"timeout": context.WithTimeout,
	}
	uses := map[string]made{
		"itself": func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
			return ctx, func() {}
		},
		"waited for": func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
			ctx.Done()
			return ctx, func() {}
		},
		"a child": func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
			return context.WithCancel(ctx)
		},
		"a timed one": context.WithTimeout,
	}
	for maker, within := range makers {
		for use, of := range uses {
			t.Run(maker+"/"+use, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancelParent := context.WithCancelCause(context.WithValue(t.Context(), contextKey{}, "value"))
					defer cancelParent(nil)
					ends := func(ctx context.Context, want, cause error) {
						t.Helper()
						synctest.Wait()
						require.ErrorIs(t, ctx.Err(), want)
						<-ctx.Done()
						require.ErrorIs(t, ctx.Err(), want)
						require.Equal(t, cause, context.Cause(ctx))
					}

					ctx, cancel := within(parent, time.Second)
					used, cancelUsed := of(ctx, time.Hour)
					defer func() { cancelUsed() }()
					require.NoError(t, used.Err())
					require.Equal(t, "value", used.Value(contextKey{}))
					end, ok := used.Deadline()
					require.True(t, ok)
					require.Equal(t, time.Now().Add(time.Second), end)
					time.Sleep(time.Second - 1)
					require.NoError(t, used.Err())
					time.Sleep(time.Nanosecond)
					ends(used, context.DeadlineExceeded, context.DeadlineExceeded)
					cancel()
					ends(used, context.DeadlineExceeded, context.DeadlineExceeded)

					ctx, cancel = within(parent, time.Second)
					used, cancelUsed = of(ctx, time.Hour)
					cancel()
					ends(used, context.Canceled, context.Canceled)

					ctx, cancel = within(parent, time.Second)
					defer cancel()
					used, cancelUsed = of(ctx, time.Hour)
					cancelParent(errGone)
					ends(used, context.Canceled, errGone)
				})
			})
		}
	}
}
